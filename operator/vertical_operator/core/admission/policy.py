"""The ValidatingAdmissionPolicy and its binding, as the chart holds them."""

from typing import Any

import yaml

from vertical_engines.contract.toolchains import Matrix
from vertical_operator.api.v1alpha1.group import GROUP, VERSION, VERTICAL_SERVICE
from vertical_operator.core.admission.rules import RULES
from vertical_operator.core.admission.tables import tables
from vertical_operator.core.admission.targets import flat

NAME = "verticalservices.serving.vertical-operator.io"
NOTE = "# Made by `vertical-operator admission` from the compatibility matrix; `make generate` refreshes it.\n"
NO_ADDITIONS = '[""]'
"""Releases that the installation adds, which this policy leaves to the operator; the chart fills them in."""

Manifest = dict[str, Any]


def admission_policy(matrix: Matrix) -> Manifest:
    """Refuses what the matrix refuses, as far as CEL can say it.

    An expression that fails lets the object through: the operator says the same once more. An update that leaves the spec alone
    passes whatever it is, so that no object of before is locked.
    """
    variables = {"added": NO_ADDITIONS, **tables(matrix), "targets": flat()}
    found = {f"{_camel(rule.policy)}": rule.complaints() for rule in RULES}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Ignore",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [GROUP],
                        "apiVersions": [VERSION],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": [VERTICAL_SERVICE.plural],
                    }
                ]
            },
            "matchConditions": [{"name": "spec-changes", "expression": "oldObject == null || object.spec != oldObject.spec"}],
            "variables": [{"name": name, "expression": expression} for name, expression in {**variables, **found}.items()],
            "validations": [
                {
                    "expression": f"variables.{name}.size() == 0",
                    "messageExpression": f"variables.{name}[0][0]",
                    "reason": "Invalid",
                }
                for name in found
            ],
        },
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def binding() -> Manifest:
    """Everywhere, by denial."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    }


def admission_yaml(matrix: Matrix) -> str:
    """Both objects as one YAML stream."""
    return NOTE + yaml.safe_dump_all([admission_policy(matrix), binding()], sort_keys=False, width=100_000, allow_unicode=True)
