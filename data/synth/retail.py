"""New plans for the shop: an outline from the train split's gold, a customer who can have it, real calls, their words."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from data.environments import load_environment
from data.synth import retail_words as words
from data.synth.base import Change, DiscardedError, Json, Recorder, Story, chance, free_users, load_database, weighted
from data.synth.retail_goals import (
    CANCEL,
    DELIVERED,
    EXCHANGE,
    MODIFY,
    ORDER_ADDRESS,
    ORDER_PAYMENT,
    RETURN,
    USER_ADDRESS,
    RetailGoal,
    RetailGoalMaker,
    Shop,
)
from data.synth.shapes import Shape, gold_shapes
from data.synth.words import money, persona, sum_expression, wishes

BUNDLES: Mapping[tuple[str, ...], float] = {
    (RETURN,): 24,
    (EXCHANGE,): 22,
    (MODIFY,): 16,
    (CANCEL,): 16,
    (ORDER_ADDRESS,): 7,
    (ORDER_PAYMENT,): 7,
    (ORDER_ADDRESS, MODIFY): 5,
    (ORDER_PAYMENT, MODIFY): 3,
}
"""What one order may go through, by weight: for outlines that no gold plan has."""

GOLD_SHARE = 0.7
"""The share of plans whose outline is a gold plan's."""


@dataclass
class Questions:
    """What the customer wants to be told: sentences, values, and the lookups that the values need."""

    sentences: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    """Ids of orders to read."""
    product: str | None = None
    """The id of a product to find by its name and to look at."""
    sum: str | None = None
    """An expression to calculate; its value is told."""
    balance: str | None = None
    """A gift card whose balance after all changes is told."""


class RetailSampler:
    """Samples plans for tau2's retail shop."""

    def __init__(self, env_name: str) -> None:
        database = load_database("retail")
        self.shop = Shop(free_users(env_name), database["orders"], database["products"])
        self.shapes = gold_shapes(load_environment(env_name), "order_id")

    def sample(self, rng: random.Random, recorder: Recorder) -> Story:
        """See `Sampler`."""
        shape = self._shape(rng)
        return _Plan(self.shop, self._user(shape, rng), shape, rng, recorder).carry_out()

    def _shape(self, rng: random.Random) -> Shape:
        shape = rng.choice(self.shapes)
        if chance(rng, GOLD_SHARE):
            return shape
        bundles = tuple(weighted(rng, BUNDLES) for _ in range(weighted(rng, {1: 55, 2: 32, 3: 13})))
        return replace(shape, bundles=bundles, alone=(USER_ADDRESS,) if chance(rng, 0.1) else ())

    def _user(self, shape: Shape, rng: random.Random) -> Json:
        delivered = sum(bundle[0] in DELIVERED for bundle in shape.bundles)
        pending = len(shape.bundles) - delivered
        methods = 2 if any(ORDER_PAYMENT in bundle for bundle in shape.bundles) else 1
        fitting = []
        for user in self.shop.users:
            statuses = [self.shop.orders[order_id]["status"] for order_id in user["orders"]]
            has_orders = statuses and statuses.count("delivered") >= delivered and statuses.count("pending") >= pending
            if has_orders and len(user["payment_methods"]) >= methods:
                fitting.append(user)
        if not fitting:
            raise DiscardedError("no customer has such orders")
        return rng.choice(fitting)


class _Plan:
    """One attempt."""

    def __init__(self, shop: Shop, user: Json, shape: Shape, rng: random.Random, recorder: Recorder) -> None:
        self.shop, self.user, self.shape, self.rng, self.recorder = shop, user, shape, rng, recorder
        lookups = shape.lookups
        self.careful = any(tool.startswith("find_user") for tool in lookups) or not shape.bundles or bool(shape.alone)
        self.by_email = "find_user_id_by_email" in lookups or (not self.careful and chance(rng, 0.4))
        self.maker = RetailGoalMaker(shop, user, self.careful, rng)
        self.orders = self.maker.orders
        self.asked = Questions()

    def carry_out(self) -> Story:
        if not self.shape.bundles and not self.shape.alone and "transfer_to_human_agents" in self.shape.lookups:
            return self._hand_over()
        goals = self.maker.goals(self.shape.bundles)
        alone = [self.maker.user_address()] if self.shape.alone else []
        changes = [change for goal in goals for change in goal.changes] + alone
        self._ask(goals, changes)
        self._look_up(goals, changes)
        if self.asked.sum or chance(self.rng, 0.6):  # else each change right after its lookups
            self.recorder.look_up(lookup for change in changes for lookup in change.lookups)
        if self.asked.sum:
            self.asked.values.append(self.recorder.call("calculate", expression=self.asked.sum).lstrip("-"))
        for change in changes:
            self.recorder.look_up(change.lookups)
            self.recorder.call(change.tool, **change.arguments)
        if self.asked.balance:
            profile = self.recorder.call("get_user_details", user_id=self.user["user_id"])
            self.asked.values.append(money(profile["payment_methods"][self.asked.balance]["balance"]))
        return Story(self._text(wishes(changes, self.rng) + self.asked.sentences), tuple(self.asked.values))

    def _hand_over(self) -> Story:
        """A wish that no tool grants: looked into or not, it goes to a person."""
        order = self.rng.choice(list(self.orders.values()))
        number = order["order_id"]
        wish = {
            "cancelled": f"undo the cancellation of order {number}",
            "delivered": f"get the refund for order {number} paid to a bank account",
            "processed": f"cancel order {number} although it is on its way",
            "pending": f"add one more item to order {number}",
        }[order["status"]]
        if chance(self.rng, 0.7):
            self._identify()
            self.recorder.call("get_order_details", order_id=number)
        self.recorder.call("transfer_to_human_agents", summary=f"The user wants to {wish}, which the agent cannot do.")
        asked = self.rng.choice(("you ask for a human agent", "you insist on a person who can"))
        return Story(self._text([f"You want to {wish}. If the agent cannot do that, {asked}."]))

    # What the customer wants to know.

    def _ask(self, goals: Sequence[RetailGoal], changes: Sequence[Change]) -> None:
        terms = [term for change in changes for term in change.terms]
        kinds = {"tracking": 3.0, "paid": 2.0, "stock": 3.0 if self.careful else 0.0, "cheapest": 2.0 if self.careful else 0.0}
        kinds |= {"sum": 12.0} if terms else {}
        kinds |= {"balance": 2.0} if changes and self.careful else {}
        for _ in range(int(self.shape.asks) if changes else self.rng.randint(1, 2)):
            kind = weighted(self.rng, kinds)
            del kinds[kind]
            if kind == "sum":
                self._ask_sum(goals, terms)
            elif kind == "balance":
                self._ask_balance()
            elif kind in ("stock", "cheapest"):
                self._ask_product(kind)
            else:
                self._ask_order(kind, goals)

    def _ask_sum(self, goals: Sequence[RetailGoal], terms: Sequence[float]) -> None:
        self.asked.orders += [goal.order["order_id"] for goal in goals]
        back = all(term > 0 for term in terms)
        what = ("how much money you get back in total", "the total amount of your refund")
        what = what if back else ("what the price difference is in total", "how much all of this costs or saves you")
        self.asked.sentences.append(f"You want to know {self.rng.choice(what)}.")
        if len(terms) == 1:
            self.asked.values.append(money(terms[0]))
        else:
            self.asked.sum = sum_expression(terms)

    def _ask_balance(self) -> None:
        cards = [method for method in self.maker.methods if method["source"] == "gift_card"]
        if cards:
            self.asked.balance = self.rng.choice(cards)["id"]
            self.asked.sentences.append("When all is done, you want to know the balance of your gift card.")

    def _ask_product(self, kind: str) -> None:
        product = self.rng.choice([p for p in self.shop.products.values() if words.cheapest(p) is not None])
        name = words.product_word(product["name"], self.rng)
        available = [variant for variant in product["variants"].values() if variant["available"]]
        self.asked.product = product["product_id"]
        if kind == "stock":
            self.asked.sentences.append(f"You want to know how many {name} options the store has available right now.")
            self.asked.values.append(str(len(available)))
        else:
            self.asked.sentences.append(f"You want to know the price of the cheapest {name} that is available.")
            self.asked.values.append(money(min(variant["price"] for variant in available)))

    def _ask_order(self, kind: str, goals: Sequence[RetailGoal]) -> None:
        orders = [goal.order for goal in goals] if goals and chance(self.rng, 0.6) else list(self.orders.values())
        if kind == "tracking":
            orders = [o for o in orders if o["fulfillments"]] or [o for o in self.orders.values() if o["fulfillments"]]
        if not orders:
            return
        order = self.rng.choice(orders)
        named = not self.careful or chance(self.rng, 0.5) or self.maker.mark(order) is None
        where = self.maker.where(order, named)
        self.asked.orders.append(order["order_id"])
        if kind == "tracking":
            self.asked.sentences.append(f"You want to know the tracking number of {where}.")
            self.asked.values.append(order["fulfillments"][0]["tracking_id"][0])
        else:
            self.asked.sentences.append(f"You want to know how much you paid for {where}.")
            self.asked.values.append(money(order["payment_history"][0]["amount"]))

    # What an agent looks up before it acts.

    def _identify(self) -> None:
        if self.by_email:
            self.recorder.call("find_user_id_by_email", email=self.user["email"])
        else:
            name = self.user["name"]
            self.recorder.call("find_user_id_by_name_zip", **name, zip=self.user["address"]["zip"])

    def _look_up(self, goals: Sequence[RetailGoal], changes: Sequence[Change]) -> None:
        wanted = [
            *(goal.order["order_id"] for goal in goals),
            *(o for change in changes for o in change.reads),
            *self.asked.orders,
        ]
        profile = any(change.profile for change in changes)
        if not self.careful:
            self._look_up_lean(goals, wanted, profile)
            return
        self._identify()
        said = " ".join([change.words for change in changes] + self.asked.sentences)
        unknown = any(order_id not in said for order_id in wanted)
        if unknown or profile or chance(self.rng, 0.6):
            self.recorder.call("get_user_details", user_id=self.user["user_id"])
        for order_id in self._reading_order(wanted, unknown):
            self.recorder.call("get_order_details", order_id=order_id)
        if self.asked.product:
            if not any(item["product_id"] == self.asked.product for o in wanted for item in self.orders[o]["items"]):
                self.recorder.call("list_all_product_types")
            self.recorder.call("get_product_details", product_id=self.asked.product)

    def _reading_order(self, wanted: Sequence[str], unknown: bool) -> list[str]:
        """The orders that are read: those that the customer names, or the profile's from the first on."""
        if not unknown:
            return list(dict.fromkeys(wanted))
        listed: list[str] = self.user["orders"]
        last = max(listed.index(order_id) for order_id in wanted)
        return listed if chance(self.rng, 0.6) else listed[: last + 1]

    def _look_up_lean(self, goals: Sequence[RetailGoal], wanted: Sequence[str], profile: bool) -> None:
        """Only what the arguments need: all orders are named."""
        spoken = {CANCEL, ORDER_ADDRESS}
        idle = {g.order["order_id"] for g in goals if not profile and all(c.tool in spoken for c in g.changes)}
        idle -= set(self.asked.orders)
        for order_id in dict.fromkeys(wanted):
            if order_id not in idle or chance(self.rng, 0.3):
                self.recorder.call("get_order_details", order_id=order_id)
        if profile:
            self.recorder.call("get_user_details", user_id=self.user["user_id"])

    # What the customer says.

    def _text(self, sentences: Sequence[str]) -> str:
        first, last = self.user["name"]["first_name"], self.user["name"]["last_name"]
        code, place = self.user["address"]["zip"], f"{self.user['address']['city']}, {self.user['address']['state']}"
        if self.by_email:
            who = self.rng.choice(
                ("Your name is {} {} and your email is {}.", "You are {} {}, with email {}.", "You are {} {} ({}).")
            ).format(first, last, self.user["email"])
        else:
            who = self.rng.choice(
                (
                    f"You are {first} {last} in zip code {code}.",
                    f"Your name is {first} {last} and your zip code is {code}.",
                    f"You are {first} {last}, and you live in {place}, {code}.",
                    f"You are {first} {last} ({self.user['user_id']}), living in zip code {code}.",
                )
            )
        parts = [" ".join(sentences), who]
        if chance(self.rng, 0.7):
            parts.append(persona(self.rng))
        if not self.by_email:
            parts.append(self.rng.choice(("You do not remember your email address.", "You don't know your email.")))
        return "\n\n".join(parts)
