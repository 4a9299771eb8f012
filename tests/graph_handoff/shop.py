"""A small shop's tools, and a plan that uses all that prose must put into words."""

from __future__ import annotations

from graph_handoff.delegation import Tool, Toolset
from graph_handoff.plan import REPORT, Effect, Guard, Plan, Step
from graph_handoff.reference import parse_reference as ref

_ORDER = {"type": "string", "description": "The order id, such as '#W0000000'."}
_EMAIL = {"type": "string", "description": "The email, such as 'a@example.com'."}
_USER = {"type": "string", "description": "The user id, such as 'sara_doe_496'."}
_METHOD = {"type": "string", "description": "The payment method, such as 'gift_card_0000000'."}


def _tool(name: str, description: str, **properties: object) -> Tool:
    return Tool(name, description, {"properties": properties, "type": "object"})


SHOP = Toolset(
    [
        _tool("cancel_pending_order", "Cancel a pending order.", order_id=_ORDER, reason={"type": "string"}),
        _tool(
            "exchange_order_items",
            "Exchange items in a delivered order.",
            order_id=_ORDER,
            item_ids={"type": "array", "items": {"type": "string"}},
            new_item_ids={"type": "array", "items": {"type": "string"}},
            payment_method_id=_METHOD,
        ),
        _tool("find_user_id_by_email", "Find user id by email.", email=_EMAIL),
        _tool("get_order_details", "Get the status and details of an order.", order_id=_ORDER),
        _tool("get_user_details", "Get the details of a user.", user_id=_USER),
        _tool("list_all_products", "Returns the products."),
        _tool("ship", "Ship it.", speed={"type": "string", "enum": ["fast", "next_day"]}, count={"type": "integer"}),
    ]
)

EXCHANGE = Plan(
    (
        Step("find_user_id_by_email", {"email": "mei@example.com"}),
        Step("get_user_details", {"user_id": ref("t1")}),
        Step("get_order_details", {"order_id": "#W6390527"}),
        Step(
            "exchange_order_items",
            {
                "order_id": "#W6390527",
                "item_ids": [ref("t3.items[name=Desk Lamp].item_id"), ref("t3.items[name=Vase].item_id")],
                "new_item_ids": ["1008292230"],
                "payment_method_id": ref("t2.payment_methods[source=paypal].id"),
            },
            (Guard(ref("t3.status"), "delivered"),),
            (Effect(("status",), "exchange requested"),),
        ),
        Step("cancel_pending_order", {"order_id": ref("t2.orders[0]"), "reason": "no longer needed"}, after=("t4",)),
        Step(REPORT, {"info": [ref("t3.total"), "54.04"]}, is_action=True),
    )
)
