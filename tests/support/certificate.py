"""A self-signed certificate for 127.0.0.1 and its key: made for these tests, useless for anything else, valid until the
year 2120."""

import ssl
from pathlib import Path

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBpzCCAU2gAwIBAgIBATAKBggqhkjOPQQDAjAhMR8wHQYDVQQDDBZBIHRlc3Qg
c2VydmVyIG9mIE5vcnRoMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAw
WjAhMR8wHQYDVQQDDBZBIHRlc3Qgc2VydmVyIG9mIE5vcnRoMFkwEwYHKoZIzj0C
AQYIKoZIzj0DAQcDQgAEQBkV6E4xE0T32ZQIF0XqQrLI77PNALRPHz8JuTS3bBK7
141DT7XX+U6NqiLUDTIoJ2RHHuDPq84nhqJnx8WE9aN0MHIwDwYDVR0RBAgwBocE
fwAAATAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIChDAdBgNVHQ4EFgQU
u9OgHUjMAXtCA8Uu0tNAGZEOn7swHwYDVR0jBBgwFoAUu9OgHUjMAXtCA8Uu0tNA
GZEOn7swCgYIKoZIzj0EAwIDSAAwRQIgbdH2dOIHslWM+XQ/kfldUgzOuYDUBRGe
IcEDIeZNw2wCIQDx/Dhrhbpzru+d+IlAwtANiyd3arm4Z/vEnLkcGEpOtA==
-----END CERTIFICATE-----
"""
_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgKLivVBLJwDCd8mxD
T6PcSmyjFZoX/Sjw8NLhtIV5bm+hRANCAARAGRXoTjETRPfZlAgXRepCssjvs80A
tE8fPwm5NLdsErvXjUNPtdf5To2qItQNMignZEce4M+rzieGomfHxYT1
-----END PRIVATE KEY-----
"""


def make_bundle(folder: Path) -> Path:
    """Write the file that makes clients trust the certificate, and return its path."""
    file = folder / "bundle.pem"
    file.write_text(CERTIFICATE)
    return file


def server_context(folder: Path) -> ssl.SSLContext:
    """Return the TLS context for a server."""
    file = folder / "server.pem"
    file.write_text(CERTIFICATE + _KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
