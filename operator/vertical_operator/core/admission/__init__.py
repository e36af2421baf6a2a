"""The checks as a ValidatingAdmissionPolicy: generated from the matrix, in the words of the policies.

CEL has no modules: `cel` spells expressions, `tables` holds the matrix as literals, `targets` makes one flat map per placement,
`rules` has one expression per policy that CEL can say, `policy` puts the object together.
"""
