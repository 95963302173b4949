import unittest

from hello.greeting import SALUTATION, greet
from hello.names import join, tidy


class GreetingTest(unittest.TestCase):
    def test_names_everybody(self) -> None:
        self.assertEqual(greet("ada", "grace"), f"{SALUTATION}, Ada and Grace!")

    def test_leaves_out_blank_names(self) -> None:
        self.assertEqual(greet("", "ada", "  "), greet("ada"))

    def test_greets_a_stranger(self) -> None:
        self.assertTrue(greet().endswith("stranger!"))


class NamesTest(unittest.TestCase):
    def test_tidy(self) -> None:
        self.assertEqual(tidy("  grace   hopper "), "Grace Hopper")

    def test_join(self) -> None:
        self.assertEqual(join(["Ada", "Grace", "Mary"]), "Ada, Grace and Mary")
        self.assertEqual(join([]), "")


if __name__ == "__main__":
    unittest.main()
