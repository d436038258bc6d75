"""Made-up secrets of every family. They are put together when a test runs, so that no file of the repository holds
anything that looks like one."""

import json
import random

ALNUM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
UPPER = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"
HEX = "0123456789abcdef"
DASHES = "-" * 5


def letters(chance, count, alphabet=ALNUM):
    """That many characters, a letter and a digit among them."""
    made = [chance.choice(alphabet) for _ in range(count)]
    made[count // 2] = "7"
    made[count // 3] = chance.choice([c for c in alphabet if c.isalpha()])
    return "".join(made)


# Family, what stands before the secret, how it begins, how many characters follow, of which alphabet, what stands after.
PREFIXED = [
    ("openai_key", "sk-", 32, ALNUM), ("openai_scoped", "sk-" + "proj-", 40, ALNUM), ("openai_scoped", "sk-" + "svcacct-", 40, ALNUM), ("anthropic_key", "sk-" + "ant-", 40, ALNUM), ("openrouter_key", "sk-" + "or-v1-", 40, ALNUM),
    ("xai_groq_key", "xa" + "i-", 40, ALNUM), ("xai_groq_key", "gs" + "k_", 40, ALNUM), ("github_token", "gh" + "p_", 36, ALNUM), ("github_token", "gh" + "o_", 36, ALNUM), ("github_pat", "github" + "_pat_", 40, ALNUM),
    ("gitlab_token", "gl" + "pat-", 20, ALNUM), ("slack_token", "xo" + "xb-", 24, ALNUM), ("aws_access_id", "AK" + "IA", 16, UPPER), ("aws_access_id", "AS" + "IA", 16, UPPER), ("google_api_key", "AI" + "za", 35, ALNUM),
    ("google_oauth", "ya" + "29.", 40, ALNUM), ("google_oauth", "GOC" + "SPX-", 28, ALNUM), ("stripe_key", "sk" + "_live_", 24, ALNUM), ("stripe_key", "wh" + "sec_", 24, ALNUM), ("npm_token", "np" + "m_", 36, ALNUM),
    ("pypi_token", "py" + "pi-", 40, ALNUM), ("huggingface", "h" + "f_", 34, ALNUM), ("twilio_key", "S" + "K", 32, HEX), ("digitalocean", "do" + "p_v1_", 64, HEX), ("age_key", "AGE-SECRET" + "-KEY-1", 58, UPPER),
    ("telegram_bot", "123456789" + ":AA", 33, ALNUM),
]  # fmt: skip
TOLD = [
    ("aws_secret", "aws_secret_access_key = ", 40, ""), ("azure_storage", "x;AccountKey=", 44, ";y"), ("bearer", "Bearer ", 24, " x"), ("auth_header", "Authorization: Basic ", 24, "\n"), ("cookie", "Cookie: sid=", 24, "\n"),
    ("url_password", "postgres://bob:", 12, "@db/x"), ("key_value", "api_key=", 20, ""), ("key_value", "password: ", 14, ""), ("key_value", "client_secret='", 20, "'"),
]  # fmt: skip


def bare(count, seed=8):
    """The same of families told by how the secret itself begins, which stand for themselves: as ids, names, arguments."""
    chance = random.Random(seed)
    out = []
    while len(out) < count:
        family, prefix, size, alphabet = PREFIXED[len(out) % len(PREFIXED)]
        secret = prefix + letters(chance, size, alphabet)
        out.append((family, secret, secret))
    return out


def made(count, seed=7):
    """(family, text, secret): the secret is what must not be found anywhere, the text is how it is written."""
    chance = random.Random(seed)
    out = []
    while len(out) < count:
        kind = len(out) % (len(PREFIXED) + len(TOLD) + 3)
        if kind < len(PREFIXED):
            family, prefix, size, alphabet = PREFIXED[kind]
            secret = prefix + letters(chance, size, alphabet)
            out.append((family, f"see {secret} there", secret))
        elif kind < len(PREFIXED) + len(TOLD):
            family, before, size, after = TOLD[kind - len(PREFIXED)]
            secret = letters(chance, size)
            out.append((family, before + secret + after, secret))
        elif kind == len(PREFIXED) + len(TOLD):
            secret = ".".join(["ey" + "J" + letters(chance, 20), "ey" + "J" + letters(chance, 30), letters(chance, 30)])
            out.append(("jwt", f"token {secret}", secret))
        elif kind == len(PREFIXED) + len(TOLD) + 1:
            inner = letters(chance, 64)
            out.append(("pem_private", f"{DASHES}BEGIN RSA PRIVATE" + f" KEY{DASHES}\n{inner}\n{DASHES}END RSA PRIVATE" + f" KEY{DASHES}", inner))
        else:
            inner = letters(chance, 30)
            out.append(("slack_webhook", "https://hooks.slack.com/" + "services/" + inner, inner))
    return out


# What may stand directly before or after a secret: white space, terminal sequences, what a program wrote in their place.
ESC = "\x1b"
WORD_ENDS = [
    "\n", "\t", "\r\n", ESC + "[32m", ESC + "[1;31m", ESC + "[0m", ESC + "[K", ESC + "(B", "%0A", "%250A", "%25250a", "%1B%5B32m",
    "\\n", "\\t", "\\u000a", "\\u001b[32m", "\\x1b[0m", "\\033[32m", "\\e[1m", "^[[33m", "_",
]  # fmt: skip
DEPTHS = range(5)


def quoted(text, depth):
    """As it stands in a JSON string, so many strings deep."""
    for _ in range(depth):
        text = json.dumps(text)[1:-1]
    return text


def nested(text, depth):
    """A JSON text in a JSON text in a JSON text."""
    for _ in range(depth):
        text = json.dumps({"before": "x", "text": text, "after": [1, "y"]})
    return text


def inner(text, depth):
    for _ in range(depth):
        value = json.loads(text)
        assert (value["before"], value["after"]) == ("x", [1, "y"]), text
        text = value["text"]
    return text


def glued(seed=9, ends=WORD_ENDS):
    """(family, text, secret): of every family one behind, and one between, each of what ends a word."""
    kinds = len(PREFIXED) + len(TOLD) + 3
    planted = made(kinds * 2 * len(ends), seed)
    out = []
    for i, (family, text, secret) in enumerate(planted):
        end = ends[i // (2 * kinds)]
        text = text.removeprefix("see ").removesuffix(" there")
        out.append((family, "x" + end + text + (end + "x" if i // kinds % 2 else ""), secret))
    return out
