"""Functions of sprig that templates of rules cannot call, and why.

A rule must give the same labels for the same facts, on every replica and after every restart, and must not read anything
that is not a fact of the node.
"""

_ENVIRONMENT = "it reads the environment of the program that evaluates the rule"
_NETWORK = "it asks the network"
_CLOCK = "it reads the clock, so the same facts would give other labels a moment later"
_RANDOM = "it draws random numbers, so the same facts would give other labels each time"
_COSTLY = "it is made to be slow, and it handles passwords, which labels must not"

_REFUSED = {
    "env": _ENVIRONMENT,
    "expandenv": _ENVIRONMENT,
    "getHostByName": _NETWORK,
    "now": _CLOCK,
    "ago": _CLOCK,
    "bcrypt": _RANDOM,
    "htpasswd": _RANDOM,
    "encryptAES": _RANDOM,
    "randAlpha": _RANDOM,
    "randAlphaNum": _RANDOM,
    "randAscii": _RANDOM,
    "randBytes": _RANDOM,
    "randInt": _RANDOM,
    "randNumeric": _RANDOM,
    "shuffle": _RANDOM,
    "uuidv4": _RANDOM,
    "genCA": _RANDOM,
    "genCAWithKey": _RANDOM,
    "genPrivateKey": _RANDOM,
    "genSelfSignedCert": _RANDOM,
    "genSelfSignedCertWithKey": _RANDOM,
    "genSignedCert": _RANDOM,
    "genSignedCertWithKey": _RANDOM,
    "buildCustomCert": "it handles private keys, which labels must not",
    "decryptAES": "it handles passwords, which labels must not",
    "derivePassword": _COSTLY,
}


def refusal(name: str) -> str | None:
    """Why a function of sprig is refused; ``None`` if it is not, or is no function at all."""
    return _REFUSED.get(name)
