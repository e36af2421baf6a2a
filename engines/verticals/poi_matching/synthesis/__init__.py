"""Made-up data: places of a city that does not exist, and receipts as printers, OCR and parsers leave them. All seeded."""
