"""Computes testdata/schedule.json from docs/control.md alone, with nothing of ours: python3 schedule.py > schedule.json"""
import base64, hashlib, hmac, json, struct
try:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError:  # the openssl library, by hand
    AESGCM = None

P = b"parley-control-1"


def canon(label, *fields):
    return b"".join(struct.pack(">I", len(f)) + f for f in (P + b" " + label,) + fields)


def expand(prk, info, n):
    return hmac.new(prk, info + b"\x01", "sha384").digest()[:n]


route = b"/control/v1/action"
transcript = hashlib.sha384(
    canon(b"transcript", b"\x01" * 32, b"\x02" * 2592, b"\x04" * 100, route, b"agent", struct.pack(">Q", 3), b"\x05" * 1568)
).digest()
prk = hmac.new(transcript, b"\x06" * 32, "sha384").digest()
keys = {n: expand(prk, P + b" " + n.encode(), 32 if n.endswith("key") else 12) for n in ("action key", "action nonce", "reply key", "reply nonce")}

when = struct.pack(">Q", 1_800_000_000_000)
nonce = bytes([9]) + bytes(23)
mac = hmac.new(
    bytes([7]) + bytes(47),
    canon(b"proof", bytes([8]) + bytes(15), route, b"agent", struct.pack(">Q", 3), when, nonce, hashlib.sha384(b"body").digest()),
    "sha384",
).digest()
proof = bytes([1, 5]) + b"agent" + struct.pack(">Q", 3) + when + nonce + mac


def gcm(key, iv, plain, additional):
    if AESGCM:
        return AESGCM(key).encrypt(iv, plain, additional)
    import subprocess, sys
    js = "const c=require('crypto');const [k,n,p,a]=process.argv.slice(1).map(x=>Buffer.from(x,'hex'));" \
         "const e=c.createCipheriv('aes-256-gcm',k,n);e.setAAD(a);" \
         "process.stdout.write(Buffer.concat([e.update(p),e.final(),e.getAuthTag()]).toString('hex'))"
    return bytes.fromhex(subprocess.check_output(["node", "-e", js] + [x.hex() for x in (key, iv, plain, additional)], text=True))


sealed = gcm(keys["action key"], keys["action nonce"], b"plain", canon(b"sealed", b"agent-request", route, bytes([10]) + bytes(15)))
print(json.dumps({
    "proof": base64.urlsafe_b64encode(proof).decode().rstrip("="),
    "actionKey": keys["action key"].hex(), "actionNonce": keys["action nonce"].hex(),
    "replyKey": keys["reply key"].hex(), "replyNonce": keys["reply nonce"].hex(), "sealed": sealed.hex(),
}, indent=1))
