package e2e

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/webhook"
)

const webhooks = "/api/webhooks"

// hookOf is the body of a new webhook.
func hookOf(url string, events ...string) object { return object{"url": url, "events": events} }

func init() {
	const nowhere = "https://hooks.example.com/x"
	clear := func(t *testing.T, h *testWorkspace) { h.sql(t, `DELETE FROM webhooks`) } // a workspace can have 20
	newExample := func(body any, pathBelow func(t *testing.T, h *testWorkspace, hook string) []string) example {
		return example{after: clear, make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
			clear(t, h)
			hook := h.owner.create(t, webhooks, hookOf(nowhere, "passkey.renamed"), onRed).at("id")
			ids := []string{hook}
			if pathBelow != nil {
				ids = append(ids, pathBelow(t, h, hook)...)
			}
			return target{ids: ids, body: body}
		}}
	}
	examples["createWebhook"] = example{after: clear, make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		clear(t, h)
		return target{body: hookOf(nowhere, "*")}
	}}
	examples["getWebhook"] = newExample(nil, nil)
	examples["updateWebhook"] = newExample(object{"description": "for CI"}, nil)
	examples["deleteWebhook"] = newExample(nil, nil)
	examples["confirmWebhook"] = newExample(nil, nil)
	examples["rotateWebhook"] = newExample(object{"grace_seconds": 60}, nil)
	examples["testWebhook"] = newExample(object{"type": "member.added"}, nil)
	examples["replayWebhook"] = newExample(object{"from": 1}, nil)
	examples["listWebhookDeliveries"] = newExample(nil, nil)
	examples["retryWebhookDelivery"] = newExample(nil, func(t *testing.T, h *testWorkspace, hook string) []string {
		delivery := id.New(webhook.DeliveryPrefix)
		h.sql(t, fmt.Sprintf(`INSERT INTO webhook_deliveries (id, webhook_id, event_id, seq, type, subject, state, attempts,
			due_at, status, failure, answer, took, created_at, attempted_at)
			VALUES ('%s', '%s', 'evt_none', 1, 'member.added', 'none', 'failed', 10, 0, 500, '', '', 0, 1, 1)`, delivery, hook))
		return []string{delivery}
	})
}
