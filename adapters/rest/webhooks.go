package rest

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/webhook"
)

func endpointOperations() []operation {
	const path = "/api/webhooks/{webhook_id}"
	return []operation{
		getOf("/api/webhooks", query(listWebhooks)),
		postOf("/api/webhooks", command(createWebhook)),
		getOf(path, query(getWebhook)),
		patchOf(path, command(updateWebhook)),
		deleteOf(path, command(deleteWebhook)),
		postOf(path+"/confirm", command(confirmWebhook)),
		postOf(path+"/rotate", command(rotateWebhook)),
		postOf(path+"/test", outbound(testWebhook)),
		postOf(path+"/replay", command(replayWebhook)),
		getOf(path+"/deliveries", query(listWebhookDeliveries)),
		postOf(path+"/deliveries/{delivery_id}/retry", command(retryWebhookDelivery)),
	}
}

func webhookID(r *request) webhook.ID { return pathID[webhook.ID](r, "webhook_id", webhook.Prefix) }

func listWebhooks(r *request) (reply, error) {
	return listing(r, toWebhook, func(page.Query) (found page.Of[webhook.Endpoint], err error) {
		found.Items, err = r.Webhooks.List(r.Context(), r.by) // a workspace has few
		return found, err
	})
}

func createWebhook(r *request) (reply, error) {
	in, err := decode[openapi.WebhookCreate](r)
	if err != nil {
		return reply{}, err
	}
	e, key, err := r.Webhooks.Create(r.Context(), r.by, webhook.Draft{URL: in.URL, Description: in.Description,
		Events: in.Events, Disabled: in.Enabled != nil && !*in.Enabled}, in.Headers)
	if err != nil {
		return reply{}, err
	}
	out := created("/api/webhooks/"+string(e.ID), toWebhookCreated(e, key)).withRevision(e.Revision)
	out.reveals, out.brought = string(e.ID), string(e.ID)
	return out, nil
}

func getWebhook(r *request) (reply, error) {
	e, err := r.Webhooks.Get(r.Context(), r.by, webhookID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toWebhook(e)).withRevision(e.Revision), nil
}

func updateWebhook(r *request) (reply, error) {
	in, err := decode[openapi.WebhookPatch](r)
	if err != nil {
		return reply{}, err
	}
	e, err := r.Webhooks.Change(r.Context(), r.by, webhookID(r), r.match, webhook.Changes{URL: in.URL,
		Description: in.Description, Events: in.Events, Enabled: in.Enabled}, in.Headers)
	if err != nil {
		return reply{}, err
	}
	return ok(toWebhook(e)).withRevision(e.Revision), nil
}

func confirmWebhook(r *request) (reply, error) {
	e, err := r.Webhooks.Confirm(r.Context(), r.by, webhookID(r), r.match)
	if err != nil {
		return reply{}, err
	}
	return ok(toWebhook(e)).withRevision(e.Revision), nil
}

func deleteWebhook(r *request) (reply, error) {
	return noContent, r.Webhooks.Delete(r.Context(), r.by, webhookID(r), r.match)
}

func rotateWebhook(r *request) (reply, error) {
	in, err := decode[openapi.WebhookRotate](r)
	if err != nil {
		return reply{}, err
	}
	e, key, err := r.Webhooks.Rotate(r.Context(), r.by, webhookID(r), r.match,
		time.Duration(in.GraceSeconds)*time.Second)
	if err != nil {
		return reply{}, err
	}
	out := ok(toWebhookCreated(e, key)).withRevision(e.Revision)
	out.reveals = string(e.ID)
	return out, nil
}

// testWebhook sends the example of a type that the contract has.
func testWebhook(r *request) (command, error) {
	in, err := decode[openapi.WebhookTest](r)
	if err != nil {
		return nil, err
	}
	for _, kind := range r.api.contract.EventTypes() {
		if kind.Type != in.Type {
			continue
		}
		o, err := r.Webhooks.Test(r.Context(), r.by, webhookID(r), kind.Type, "example", kind.Sample)
		if err != nil {
			return nil, err
		}
		return respond(ok(toAttempt(o))), nil
	}
	return nil, fault.InField("/type", "not_allowed_value", "Must be a type of event: GET /api/event-types lists them.")
}

func replayWebhook(r *request) (reply, error) {
	in, err := decode[openapi.WebhookReplay](r)
	if err != nil {
		return reply{}, err
	}
	queued, next, err := r.Webhooks.Replay(r.Context(), r.by, webhookID(r), in.From, in.To, in.OnlyFailed)
	if err != nil {
		return reply{}, err
	}
	out := openapi.WebhookReplayed{Queued: queued, Next: openapi.OrNull(next)}
	return reply{status: http.StatusAccepted, body: out}, nil
}

func listWebhookDeliveries(r *request) (reply, error) {
	f := webhook.DeliveryFilter{State: webhook.State(r.query.Get("state")), Type: r.query.Get("type")}
	return listing(r, toDelivery, func(q page.Query) (webhook.DeliveryPage, error) {
		return r.Webhooks.Deliveries(r.Context(), r.by, webhookID(r), f, q)
	})
}

func retryWebhookDelivery(r *request) (reply, error) {
	d, err := r.Webhooks.Retry(r.Context(), r.by, webhookID(r),
		pathID[webhook.DeliveryID](r, "delivery_id", webhook.DeliveryPrefix))
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusAccepted, body: toDelivery(d)}, nil
}

func toWebhook(e *webhook.Endpoint) openapi.Webhook {
	return openapi.Webhook{
		ID:                  string(e.ID),
		URL:                 e.URL,
		Description:         e.Description,
		Events:              e.Events,
		HeaderNames:         convert.NonNil(e.Headers),
		Enabled:             e.Enabled,
		Status:              openapi.WebhookStatus(e.Status()),
		DisabledReason:      openapi.OrNull(string(e.Reason)),
		ConsecutiveFailures: e.Failures,
		FailingSince:        convert.OrNullTime(e.FailingSince),
		LastSuccessAt:       convert.OrNullTime(e.SucceededAt),
		CreatedBy:           openapi.OrNull(string(e.CreatedBy)),
		Ownerless:           e.Ownerless,
		Revision:            e.Revision,
		CreatedAt:           openapi.Time(e.CreatedAt),
		UpdatedAt:           openapi.Time(e.UpdatedAt),
	}
}

func toWebhookCreated(e *webhook.Endpoint, key []byte) openapi.WebhookCreated {
	w := toWebhook(e)
	return openapi.WebhookCreated{
		ID: w.ID, URL: w.URL, Description: w.Description, Events: w.Events, HeaderNames: w.HeaderNames,
		Enabled: w.Enabled, Status: w.Status, DisabledReason: w.DisabledReason,
		ConsecutiveFailures: w.ConsecutiveFailures, FailingSince: w.FailingSince, LastSuccessAt: w.LastSuccessAt,
		CreatedBy: w.CreatedBy, Ownerless: w.Ownerless, Revision: w.Revision, CreatedAt: w.CreatedAt,
		UpdatedAt: w.UpdatedAt,
		Secret:    "whsec_" + base64.StdEncoding.EncodeToString(key),
	}
}

func toAttempt(o webhook.Outcome) openapi.WebhookAttempt {
	return openapi.WebhookAttempt{Delivered: o.Delivered(), Status: openapi.OrNull(o.Status),
		Failure: openapi.OrNull(o.Failure), Answer: o.Answer, DurationMs: o.Took.Milliseconds()}
}

func toDelivery(d *webhook.Delivery) openapi.WebhookDelivery {
	out := openapi.WebhookDelivery{
		ID:            string(d.ID),
		WebhookID:     string(d.Endpoint),
		EventID:       d.Event.ID,
		Seq:           d.Event.Seq,
		Type:          d.Event.Type,
		SubjectID:     d.Event.Subject,
		State:         openapi.WebhookDeliveryState(d.State),
		Attempts:      d.Attempts,
		NextAttemptAt: nullable.NewNullNullable[openapi.Time](),
		LastAttemptAt: convert.OrNullTime(d.AttemptedAt),
		LastAttempt:   nullable.NewNullNullable[openapi.WebhookAttempt](),
		CreatedAt:     openapi.Time(d.CreatedAt),
	}
	if d.State == webhook.Pending {
		out.NextAttemptAt = convert.OrNullTime(d.Due)
	}
	if !d.AttemptedAt.IsZero() || d.Last.Failure != "" {
		out.LastAttempt = nullable.NewNullableWithValue(toAttempt(d.Last))
	}
	return out
}

func webhooksArea() area { return area{name: "webhooks", operations: endpointOperations()} }
