"""S12: names of the protocol in another case mean nothing to us and something to somebody else: they are refused."""

import client
from client import INVALID, METHOD, NOVEMBER, PARAMS, PREFIX, McpTest, modern, modern_meta, notification, request


class SpellingTest(McpTest):
    def setUp(self):
        super().setUp()
        self.append("x")
        self.path = self.world.file("a.txt", "A\n")

    def test_s12_an_envelope_with_a_key_in_another_case_is_no_request(self):
        good = request("ping", id=7)
        for peer in (self.mcp(revision=NOVEMBER), self.mcp(revision=client.OLDEST)):
            for key, value in (("Method", "tools/list"), ("ID", 8), ("JsonRpc", "2.0"), ("PARAMS", {}), ("Result", {}), ("errOr", {})):
                with self.subTest(key=key):
                    peer.say({**good, key: value})
                    self.assertError(peer.reply(7), INVALID)
                    alone = {**good, key: value}
                    alone.pop(key.lower(), None)
                    peer.say(alone)
                    found = peer.take(lambda m: isinstance(m, dict) and "error" in m)
                    self.assertEqual(found["error"]["code"], INVALID, found)
            peer.alive()

    def test_s12_params_with_a_key_in_another_case_are_refused(self):
        read = {"name": "read", "arguments": {"path": "a.txt"}}
        cases = [
            ("tools/call", {**read, "Name": "status"}, "/Name"),
            ("tools/call", {**read, "Arguments": {"path": "b.txt"}}, "/Arguments"),
            ("tools/call", {**read, "_Meta": {}}, "/_Meta"),
            ("tools/list", {"Cursor": "x"}, "/Cursor"),
            ("resources/read", {"uri": "weir://session/s", "URI": "weir://session/t"}, "/URI"),
            ("prompts/get", {"name": "resume-work", "arguments": {"session": "s"}, "NAME": "x"}, "/NAME"),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "resume-work", "Name": "x"}, "argument": {"name": "session", "value": ""}}, "/ref/Name"),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "resume-work"}, "argument": {"name": "session", "value": "", "Value": "s"}}, "/argument/Value"),
        ]  # fmt: skip
        for name, peer in self.everywhere():
            for method, params, path in cases:
                with self.subTest(peer=name, method=method, path=path):
                    error = peer.error(method, params, PARAMS)
                    self.assertEqual([one["path"] for one in error["data"]["details"]["errors"]], [path])
            self.assertEqual(peer.text("read", path=self.path), "A\n")

    def test_s12_meta_with_a_key_in_another_case_is_refused(self):
        peer = self.mcp()
        for key in ("ProgressToken", PREFIX + "ProtocolVersion", PREFIX + "LOGLEVEL"):
            with self.subTest(key=key):
                peer.say(modern("tools/list", id=3, meta=modern_meta(**{key: "x"})))
                self.assertError(peer.reply(3), PARAMS)
        peer.say(modern("subscriptions/listen", {"notifications": {"ResourcesListChanged": True}}, id=4))
        self.assertError(peer.reply(4), PARAMS)

    def test_names_of_the_clients_own_are_left_alone(self):
        peer = self.mcp()
        peer.say(modern("tools/list", {"x": 1, "Vendor": {"Name": 1}}, id=3, meta={**modern_meta(info={"Name": "n", "name": "n", "version": "1"}), "vendor/Name": 1}))
        self.assertIn("result", peer.reply(3))
        peer.say(notification("notifications/nope", {"Name": 1}))
        peer.say(request("Ping", id=4))
        self.assertIn(peer.reply(4)["error"]["code"], (INVALID, METHOD))
        peer.alive()

    def test_a_prompt_takes_the_arguments_it_lists(self):
        peer = self.mcp("--session", "s")
        for arguments in ({"Session": "t"}, {"session": "s", "x": "y"}):
            peer.error("prompts/get", {"name": "resume-work", "arguments": arguments}, PARAMS)
        peer.ok("prompts/get", {"name": "resume-work", "arguments": {}})


if __name__ == "__main__":
    client.main()
