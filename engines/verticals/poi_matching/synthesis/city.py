"""Words of the made-up city Port Maren: districts, streets, chains, and what single places are called."""

DISTRICTS = ("Harbor", "Old Town", "Uptown", "Riverside", "Station", "Garden Hill", "University", "Southgate")

STREETS = (
    "Mill Street",
    "Harbor Road",
    "Elm Avenue",
    "Oak Street",
    "Station Square",
    "King Street",
    "Queen Street",
    "Lantern Lane",
    "Weaver Street",
    "Orchard Road",
    "Chapel Lane",
    "Market Square",
    "Quay Street",
    "Bridge Road",
    "North Wall Road",
    "Cooper Lane",
    "Linden Avenue",
    "Garden Avenue",
    "Tower Street",
    "South Gate Boulevard",
    "College Road",
    "Ferry Lane",
    "Foundry Street",
    "Maple Avenue",
)

CHAINS = (
    ("Blue Heron Coffee", "cafe"),
    ("Daily Loaf Bakery", "bakery"),
    ("Corner24", "convenience store"),
    ("Noodle Yard", "restaurant"),
    ("Maren Pharmacy", "pharmacy"),
    ("Green Fork", "restaurant"),
    ("Pixel Print & Copy", "copy shop"),
    ("Fresh Basket Market", "supermarket"),
    ("Sunny Side Burger", "restaurant"),
    ("Clean Collar Laundry", "laundry"),
)

FIRST = (
    "Golden", "Silver", "Little", "Grand", "Happy", "Royal", "Lucky", "Old", "Red", "White", "Wild", "Quiet", "Salty", "Crooked", "Velvet",
    "Copper", "Misty", "Amber", "Brave", "Hidden",
)  # fmt: skip

SECOND = (
    "Anchor", "Lantern", "Fox", "Olive", "Magnolia", "Sparrow", "Harbor", "Willow", "Crane", "Pepper", "Tiger", "Maple", "Compass",
    "Turtle", "Mountain", "Garden", "Dragon", "Juniper", "Whale", "Clover",
)  # fmt: skip

OWNERS = ("Mina", "Tomas", "Okoro", "Larsen", "Beatrice", "Hana", "Rossi", "Adeyemi", "Kowalski", "Marchetti", "Sato", "Delgado")

KINDS = (
    ("Cafe", "cafe"),
    ("Bistro", "restaurant"),
    ("Kitchen", "restaurant"),
    ("Grill", "restaurant"),
    ("Bakery", "bakery"),
    ("Books", "book shop"),
    ("Flowers", "florist"),
    ("Dental Clinic", "dentist"),
    ("Hair Studio", "hairdresser"),
    ("Hardware", "hardware store"),
    ("Tea House", "cafe"),
    ("Bar", "bar"),
    ("Pizzeria", "restaurant"),
    ("Bike Repair", "repair shop"),
    ("Optics", "optician"),
    ("Stationery", "stationer"),
)
