"""Settings of the masking of secrets."""

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class SecretSettings:
    """Whether secrets are masked, and where not."""

    enabled: bool = setting(
        "secrets.enabled",
        True,
        "Send models placeholders for secrets (values of variables and of `.env` files, your keys, whatever has the "
        "form of a key), and store placeholders for them.",
        strict=True,
        project="stricter",
    )
    off_in: tuple[str, ...] = setting(
        "secrets.offIn",
        (),
        "Folders (absolute, or with `~`) in whose projects secrets are not masked.",
        strict=(),
    )
