"""Limits of tools' arguments, and what is told beside a result."""


class Notices(list[str]):
    """What the model should know about how a call was understood."""

    def at_most(self, value: int, maximum: int, name: str) -> int:
        """A limit within its maximum; lowering it is said."""
        if value > maximum:
            self.append(f"{name} is {maximum}, the most there is, instead of {value}")
            return maximum
        return value


def with_meta(data: dict[str, object], notices: list[str], **meta: object) -> dict[str, object]:
    """The data with what is to be known about it, if there is anything."""
    told = {key: value for key, value in meta.items() if value is not None}
    if notices:
        told["notices"] = list(notices)
    return data | {"meta": told} if told else data
