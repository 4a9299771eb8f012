"""What a customer of the shop may want of an order: each wish as a write with its real arguments, and as text."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from data.synth import retail_words as words
from data.synth.base import Change, DiscardedError, Json, chance, weighted
from data.synth.words import WANT, listing

RETURN, EXCHANGE = "return_delivered_order_items", "exchange_delivered_order_items"
CANCEL, MODIFY = "cancel_pending_order", "modify_pending_order_items"
ORDER_ADDRESS, ORDER_PAYMENT = "modify_pending_order_address", "modify_pending_order_payment"
USER_ADDRESS = "modify_user_address"
DELIVERED = frozenset({RETURN, EXCHANGE})
MARKED = "the order with the "


@dataclass(frozen=True)
class Shop:
    """The database before any call, and the customers that plans may be about."""

    users: list[Json]
    orders: Mapping[str, Json]
    products: Mapping[str, Json]


@dataclass(frozen=True)
class RetailGoal:
    """All that happens to one order."""

    order: Json
    changes: tuple[Change, ...]


class RetailGoalMaker:
    """Makes the wishes of one customer."""

    def __init__(self, shop: Shop, user: Json, careful: bool, rng: random.Random) -> None:
        self.shop, self.user, self.careful, self.rng = shop, user, careful, rng
        self.orders: dict[str, Json] = {order_id: shop.orders[order_id] for order_id in user["orders"]}
        self.methods: list[Json] = list(user["payment_methods"].values())
        self.moved_to: Json | None = None

    def goals(self, bundles: Sequence[tuple[str, ...]]) -> list[RetailGoal]:
        """One goal for each bundle of writes, each on an order of its own. Raises DiscardedError where a wish cannot be had."""
        free = dict(self.orders)
        goals = []
        for bundle in bundles:
            status = "delivered" if bundle[0] in DELIVERED else "pending"
            fitting = [order for order in free.values() if order["status"] == status]
            order = self.rng.choice(fitting)
            del free[order["order_id"]]
            named = chance(self.rng, 0.45 if self.careful else 1.0) or self.mark(order) is None
            goals.append(self._goal(order, bundle, named))
        return goals

    def _goal(self, order: Json, bundle: tuple[str, ...], named: bool) -> RetailGoal:
        makers: dict[str, Callable[[Json, str], Change]] = {
            RETURN: self._return,
            EXCHANGE: self._exchange,
            MODIFY: self._modify,
            CANCEL: self._cancel,
            ORDER_ADDRESS: self._order_address,
            ORDER_PAYMENT: self._order_payment,
        }
        where = self.where(order, named)
        changes = []
        for tool in bundle:
            changes.append(makers[tool](order, where))
            where = self.rng.choice(("the same order", "that order"))
        return RetailGoal(order, tuple(changes))

    def mark(self, order: Json) -> Json | None:
        """An item of the order whose product is in none of the customer's other orders."""
        own = [item for item in order["items"] if self._tells(item, order)]
        return self.rng.choice(own) if own else None

    def _tells(self, item: Json, order: Json) -> bool:
        others = [other["items"] for other in self.orders.values() if other is not order]
        return all(item["product_id"] != other["product_id"] for items in others for other in items)

    def _place(self, order: Json, where: str, items: Sequence[Json]) -> str:
        """Where the items are: an order that has no name need not be told apart when the items do it."""
        if where.startswith(MARKED) and any(self._tells(item, order) for item in items):
            return self.rng.choice(("one of your orders", "a recent order", "the order that has it", where))
        return where

    def where(self, order: Json, named: bool) -> str:
        """An order as the customer calls it: by its id, or by something in it."""
        if named:
            return self.rng.choice(("order {}", "your order {}", "order {}")).format(order["order_id"])
        mark = self.mark(order)
        assert mark is not None  # `goals` names the order where it has none
        return f"{MARKED}{words.product_word(mark['name'], self.rng)}"

    def _items(self, order: Json, most: int) -> list[Json]:
        ids = [item["item_id"] for item in order["items"]]
        single = [item for item in order["items"] if ids.count(item["item_id"]) == 1]
        if not single:
            raise DiscardedError("an order with nothing but doubles")
        count = min(len(single), weighted(self.rng, {1: 58, 2: 27, 3: 10, 4: 5}), most)
        return self.rng.sample(single, count)

    def _return(self, order: Json, where: str) -> Change:
        items = order["items"] if chance(self.rng, 0.05) else self._items(order, 4)
        gift_cards = [method for method in self.methods if method["source"] == "gift_card"]
        original = self._original(order)
        method = self.rng.choice(gift_cards) if gift_cards and chance(self.rng, 0.3) else original
        if items is order["items"]:
            what = f"{WANT} return everything in {where}"
        else:
            named = listing([words.item_words(item, order, self.rng) for item in items])
            place = self._place(order, where, items)
            what = f"{WANT} {self.rng.choice(('return', 'send back'))} the {named} from {place}"
        phrase, profile = self._pay(method, original, ("with the refund to", "and get the money back on"))
        arguments = {"order_id": order["order_id"], "item_ids": [i["item_id"] for i in items], "payment_method_id": method["id"]}
        return Change(RETURN, arguments, what + phrase, profile=profile, terms=tuple(item["price"] for item in items))

    def _exchange(self, order: Json, where: str) -> Change:
        return self._swap(EXCHANGE, self.rng.choice(("exchange the {} for {}", "swap the {} for {}")), order, where)

    def _modify(self, order: Json, where: str) -> Change:
        return self._swap(
            MODIFY, self.rng.choice(("change the {} to {}", "modify the {} to {}", "switch the {} to {}")), order, where
        )

    def _swap(self, tool: str, verb: str, order: Json, where: str) -> Change:
        pairs = [(item, new) for item in self._items(order, 3) if (new := self._variant(item)) is not None]
        if not pairs:
            raise DiscardedError("no other variant is available")
        original = self._original(order)
        method = original if not self.careful and chance(self.rng, 0.6) else self.rng.choice(self.methods)
        said = [words.swap_words(i, order, new, self.shop.products[i["product_id"]], self.rng) for i, new in pairs]
        # The first pair carries the verb: `exchange the lamp for a black one and the mug for a red one`.
        joint = verb.split(" ", 1)[1]
        swaps = listing([(verb if number == 0 else joint).format(*pair) for number, pair in enumerate(said)])
        phrase, profile = self._pay(method, original, ("with any price difference on", "and settle the difference with"))
        arguments = {
            "order_id": order["order_id"],
            "item_ids": [item["item_id"] for item, _ in pairs],
            "new_item_ids": [variant["item_id"] for _, variant in pairs],
            "payment_method_id": method["id"],
        }
        place = self._place(order, where, [item for item, _ in pairs])
        products = dict.fromkeys(item["product_id"] for item, _ in pairs)
        lookups = tuple(("get_product_details", {"product_id": product_id}) for product_id in products)
        terms = tuple(term for item, variant in pairs for term in (item["price"], -variant["price"]))
        return Change(tool, arguments, f"{WANT} {swaps} in {place}{phrase}", lookups, profile, terms=terms)

    def _variant(self, item: Json) -> Json | None:
        variants = self.shop.products[item["product_id"]]["variants"].values()
        fitting = [v for v in variants if v["available"] and v["item_id"] != item["item_id"]]
        return self.rng.choice(fitting) if fitting else None

    def _cancel(self, order: Json, where: str) -> Change:
        reason = self.rng.choice(("no longer needed", "ordered by mistake"))
        because = {"no longer needed": ("because it is", "since it is"), "ordered by mistake": ("because it was", "as it was")}
        phrase = f"{WANT} cancel {where} {self.rng.choice(because[reason])} {reason}"
        arguments = {"order_id": order["order_id"], "reason": reason}
        return Change(CANCEL, arguments, phrase, terms=(order["payment_history"][0]["amount"],))

    def _order_payment(self, order: Json, where: str) -> Change:
        original = self._original(order)
        others = [method for method in self.methods if method["id"] != original["id"]]
        if not others:
            raise DiscardedError("no other payment method")
        method = self.rng.choice(others)
        said = words.payment_words(method, self.methods, self.rng)
        phrase = self.rng.choice((f"pay for {where} with {said} instead", f"switch the payment method of {where} to {said}"))
        arguments = {"order_id": order["order_id"], "payment_method_id": method["id"]}
        return Change(ORDER_PAYMENT, arguments, f"{WANT} {phrase}", profile=True)

    def _order_address(self, order: Json, where: str) -> Change:
        kind = weighted(self.rng, {"new": 55, "profile": 30, "order": 15})
        own = self.user["address"]
        elsewhere = [other for other in self.orders.values() if other["address"] not in (own, order["address"])]
        profile, reads = False, tuple[str, ...]()
        if kind == "profile" and own != order["address"]:
            address, said, profile = own, f"your default address in {own['city']}", True
        elif kind == "order" and elsewhere:
            other = self.rng.choice(elsewhere)
            address, said, reads = other["address"], f"the address of order {other['order_id']}", (other["order_id"],)
        else:
            address, said = self._new_address()
        self.moved_to = address
        phrase = self.rng.choice(
            (f"change the shipping address of {where} to {said}", f"have {where} delivered to {said}", f"send {where} to {said}")
        )
        arguments = {"order_id": order["order_id"], **_plain(address)}
        return Change(ORDER_ADDRESS, arguments, f"{WANT} {phrase}", profile=profile, reads=reads)

    def user_address(self) -> Change:
        """The customer's own address changes: to where the orders now go, or elsewhere."""
        address, said = self._new_address()
        phrase = self.rng.choice((f"change your default address to {said}", f"update the address in your profile to {said}"))
        return Change(USER_ADDRESS, {"user_id": self.user["user_id"], **_plain(address)}, f"{WANT} {phrase}")

    def _new_address(self) -> tuple[Json, str]:
        """Where an order before this one now goes; or a street that some customer lives in, in another house. And its words."""
        if self.moved_to is not None and chance(self.rng, 0.7):
            return self.moved_to, self.rng.choice(("that same address", "the same address"))
        place = self.rng.choice(self.shop.users)["address"]
        house = self.rng.randint(100, 999)
        unit = self.rng.choice(("", f"Apt {self.rng.randint(1, 60)}", f"Suite {self.rng.randint(100, 999)}"))
        address = {**place, "address1": f"{house} {place['address1'].split(' ', 1)[1]}", "address2": unit}
        return address, words.address_words(address, self.rng)

    def _original(self, order: Json) -> Json:
        method: Json = self.user["payment_methods"][order["payment_history"][0]["payment_method_id"]]
        return method

    def _pay(self, method: Json, original: Json, openings: Sequence[str]) -> tuple[str, bool]:
        """The payment in words, and whether it must be looked up in the profile."""
        if method is original and chance(self.rng, 0.1):
            return "", False  # as many customers, who leave it to the agent
        if method is original and chance(self.rng, 0.45 if self.careful else 0.85):
            said = self.rng.choice(("the original payment method", "the payment method used for the order"))
            return f", {self.rng.choice(openings)} {said}", False
        return f", {self.rng.choice(openings)} {words.payment_words(method, self.methods, self.rng)}", True


def _plain(address: Mapping[str, str]) -> Json:
    """The fields of an address in the order of the tools' parameters."""
    return {key: address[key] for key in ("address1", "address2", "city", "state", "country", "zip")}
