"""Limits of tools' arguments, and the notices that go with a result."""

from __future__ import annotations


class Notices(list[str]):
    """Notices that tell the model how its call was understood."""

    def at_most(self, value: int, maximum: int, name: str) -> int:
        """Return a limit, lowered to its maximum if it is above; a notice then says so."""
        if value > maximum:
            self.append(f"{name} is {maximum}, its maximum, instead of {value}")
            return maximum
        return value


def with_meta(data: dict[str, object], notices: list[str], **meta: object) -> dict[str, object]:
    """Return the data with its notices and other facts under `meta`, if there are any."""
    told = {key: value for key, value in meta.items() if value is not None}
    if notices:
        told["notices"] = list(notices)
    return data | {"meta": told} if told else data
