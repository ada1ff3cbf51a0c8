#!/usr/bin/env python3
"""A candidate of an Orrery election, with nothing but Python's standard library: the NATS protocol over a socket.

Prints one line when it leads and one when it leads no more, and whatever work it has it does under the term that it was given.
It counts by itself how long it may lead, from before it asked; so it stops in time although nobody tells it to.

    python3 candidate.py --nats 127.0.0.1:4222 --cluster dev --election bakery/oven --id a

Where NATS asks for a login, as with deploy/nats/permissions.conf: --nats USER:PASSWORD@HOST:PORT, and --inbox, under which that user
hears answers, such as _INBOX_candidate.
"""

import argparse
import json
import signal
import socket
import sys
import time


def token(text):
    """A token of a subject: every byte that is no letter, digit, "_" or "-" is written =XX."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
    return "".join(chr(byte) if byte in plain else "=%02X" % byte for byte in text.encode())


class Nats:
    """One connection that asks one question at a time."""

    def __init__(self, host, port, login, inbox):
        self.socket = socket.create_connection((host, port), timeout=5)
        self.buffer = b""
        self.asked = 0
        self.inbox = "%s.py%d" % (inbox, time.monotonic_ns())
        self.line()  # INFO
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "lang": "python"}
        if login:
            options["user"], options["pass"] = login.split(":", 1)
        self.send("CONNECT %s\r\nSUB %s.* 1\r\n" % (json.dumps(options), self.inbox))

    def send(self, text):
        self.socket.sendall(text.encode())

    def fill(self):
        more = self.socket.recv(65536)
        if not more:
            raise ConnectionError("NATS closed the connection")
        self.buffer += more

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode()

    def bytes(self, count):
        while len(self.buffer) < count + 2:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count + 2 :]
        return data

    def ask(self, subject, body, timeout):
        self.asked += 1
        reply = "%s.%d" % (self.inbox, self.asked)
        data = json.dumps(body)
        self.socket.settimeout(timeout)
        self.send("PUB %s %s %d\r\n%s\r\n" % (subject, reply, len(data.encode()), data))
        while True:
            words = self.line().split(" ")
            if words[0] == "PING":
                self.send("PONG\r\n")
            elif words[0] in ("MSG", "HMSG"):
                headers = int(words[-2]) if words[0] == "HMSG" else 0
                payload = self.bytes(int(words[-1]))
                # The answer to an earlier question came too late.
                if words[1] != reply:
                    continue
                if headers and b" 503" in payload[:headers].split(b"\r\n")[0]:
                    raise ConnectionError("no replica answers")
                answer = json.loads(payload[headers:])
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer
            elif words[0] == "-ERR":
                raise ConnectionError(" ".join(words))


def say(text):
    print("%s %s" % (time.strftime("%H:%M:%S"), text), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nats", default="127.0.0.1:4222", help="[USER:PASSWORD@]HOST:PORT")
    parser.add_argument("--inbox", default="_INBOX", help="prefix of the subjects of answers")
    parser.add_argument("--cluster", default="default")
    parser.add_argument("--election", required=True, help="NAMESPACE/NAME")
    parser.add_argument("--id", required=True)
    parser.add_argument("--ttl", type=float, default=3.0, help="seconds")
    flags = parser.parse_args()
    namespace, name = flags.election.split("/")
    login, _, server = flags.nats.rpartition("@")
    host, port = server.rsplit(":", 1)
    prefix = "orrery.%s.rpc.election.%s.%s.%s" % tuple(map(token, (flags.cluster, namespace, name, flags.id)))

    nats, term, until = None, None, 0.0

    def resign(*_):
        if nats is not None and term is not None:
            nats.ask(prefix + ".resign", {"candidate": flags.id, "term": term}, flags.ttl)
            say("%s resigned from term %d" % (flags.id, term))
        sys.exit(0)

    signal.signal(signal.SIGTERM, resign)
    signal.signal(signal.SIGINT, resign)

    while True:
        asked_at = time.monotonic()
        if term is not None and asked_at >= until:
            say("%s leads no more: its time under term %d is over" % (flags.id, term))
            term = None
        try:
            nats = nats or Nats(host, int(port), login, flags.inbox)
            patience = flags.ttl / 3
            if term is None:
                body = {"candidate": flags.id, "ttlMs": int(flags.ttl * 1000)}
                answer = nats.ask(prefix + ".campaign", body, patience)
                if answer["leading"]:
                    term = answer["term"]
                    say("%s leads under term %d" % (flags.id, term))
            else:
                answer = nats.ask(prefix + ".renew", {"candidate": flags.id, "term": term}, patience)
                if not answer["leading"]:
                    say("%s leads no more: %s" % (flags.id, answer["reason"]))
                    term = None
            if answer["leading"]:
                # From before the question: the answer may have taken its time.
                until = asked_at + answer["expiresInMs"] / 1000
        except RuntimeError as error:
            say("refused: %s" % error)
        except OSError as error:
            say("not reached: %s" % error)
            nats = None
        time.sleep(max(0.05, asked_at + flags.ttl / 3 - time.monotonic()))


main()
