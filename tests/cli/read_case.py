"""What the tests of the read cache share: a reader in a session of its own, and files to read."""

import hashlib
import os

from harness import CliTest, compact

OF_A = "4fdbc441ea7b546100e086ac1e4fc5ae6749b7314311c99db05be450eca12996"  # of the contract's first example
UNCHANGED_4 = "77d7614649bb3c2feb9ea3e6b996e277b47e5f5af9b8a456373c3ca000b4af77"


def sha(text):
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def numbered(first, last, word="line"):
    return [f"{word} {i}" for i in range(first, last + 1)]


class ReadCase(CliTest):
    def setUp(self):
        super().setUp()
        self.followed = set()

    def file(self, name, content):
        """A file in the working directory: a text, bytes, or a list of lines joined without a final LF."""
        return self.world.file(name, "\n".join(content) if isinstance(content, list) else content)

    def read(self, path, *args, session="s", **how):
        """The whole answer of one recorded read, in a session whose host tells of its compactions."""
        self.begin(session)
        return self.answer("read", path, "--session", session, *args, **how)

    def begin(self, session):
        if session not in self.followed:
            self.followed.add(session)
            self.follow(session)

    def said(self, path, *args, **how):
        """Mode, scope and reason of one read: what the record says."""
        record = self.read(path, *args, **how)["record"]
        return record["mode"], record["scope"], record["reason"]

    def mode(self, path, *args, **how):
        return self.said(path, *args, **how)[0]

    def texts(self, path, *args, **how):
        return self.read(path, *args, **how)["text"].split("\n")

    def refresh(self, path, *args, session="s"):
        return self.answer("refresh", path, *args, "--session", session)

    def status(self, *args, session="s"):
        return self.answer("reads", *args, "--session", session)

    def add(self, kind, body, session="s", head="main"):
        """Appends one entry of any type; answers its id."""
        self.begin(session)
        return self.answer("append", "--session", session, "--head", head, stdin=compact({"type": kind, "body": body}))["entries"][0]["id"]

    def compact(self, session="s", head="main", **body):
        return self.add("compaction", {"summary": "so far", **body}, session, head)

    def last(self, session="s", head="main"):
        """The entry at the head."""
        return self.answer("show", head, "--session", session)

    def entries(self, session="s"):
        """Of the path, without what the host said of itself."""
        return [line for line in self.log(session, "--reverse") if line["body"] != {"barrier_feed": True}]

    def blob(self, version):
        """Where the store keeps a version."""
        return os.path.join(self.world.store, "objects", version[:2], version[2:])

    def config(self, **options):
        """Options of the read cache in the user's configuration."""
        self.world.user_config("".join(f"read.{key} = {compact(value)}\n" for key, value in options.items()))
