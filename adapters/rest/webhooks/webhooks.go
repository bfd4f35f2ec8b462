package webhooks

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/webhook"
)

func webhookID(r *server.Call) webhook.ID {
	return server.PathID[webhook.ID](r, "webhook_id", webhook.Prefix)
}

func listWebhooks(r *server.Call) (server.Reply, error) {
	return server.List(r, toWebhook, func(page.Query) (found page.Of[webhook.Endpoint], err error) {
		found.Items, err = r.Webhooks.List(r.Context(), r.By) // a workspace has few
		return found, err
	})
}

func createWebhook(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.WebhookCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	e, key, err := r.Webhooks.Create(r.Context(), r.By, webhook.Draft{URL: in.URL, Description: in.Description,
		Events: in.Events, Disabled: in.Enabled != nil && !*in.Enabled}, in.Headers)
	if err != nil {
		return server.Reply{}, err
	}
	out := server.Created("/api/webhooks/"+string(e.ID), toWebhookCreated(e, key)).WithRevision(e.Revision)
	out.Reveals, out.Brought = string(e.ID), string(e.ID)
	return out, nil
}

func getWebhook(r *server.Call) (server.Reply, error) {
	e, err := r.Webhooks.Get(r.Context(), r.By, webhookID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toWebhook(e)).WithRevision(e.Revision), nil
}

func updateWebhook(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.WebhookPatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	e, err := r.Webhooks.Change(r.Context(), r.By, webhookID(r), r.Match, webhook.Changes{URL: in.URL,
		Description: in.Description, Events: in.Events, Enabled: in.Enabled}, in.Headers)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toWebhook(e)).WithRevision(e.Revision), nil
}

func confirmWebhook(r *server.Call) (server.Reply, error) {
	e, err := r.Webhooks.Confirm(r.Context(), r.By, webhookID(r), r.Match)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toWebhook(e)).WithRevision(e.Revision), nil
}

func deleteWebhook(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Webhooks.Delete(r.Context(), r.By, webhookID(r), r.Match)
}

func rotateWebhook(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.WebhookRotate](r)
	if err != nil {
		return server.Reply{}, err
	}
	e, key, err := r.Webhooks.Rotate(r.Context(), r.By, webhookID(r), r.Match,
		time.Duration(in.GraceSeconds)*time.Second)
	if err != nil {
		return server.Reply{}, err
	}
	out := server.OK(toWebhookCreated(e, key)).WithRevision(e.Revision)
	out.Reveals = string(e.ID)
	return out, nil
}

// testWebhook sends the example for a type that the contract has.
func testWebhook(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.WebhookTest](r)
	if err != nil {
		return nil, err
	}
	for _, kind := range r.API.Contract.EventTypes() {
		if kind.Type != in.Type {
			continue
		}
		o, err := r.Webhooks.Test(r.Context(), r.By, webhookID(r), kind.Type, "example", kind.Sample)
		if err != nil {
			return nil, err
		}
		return server.Respond(server.OK(toAttempt(o))), nil
	}
	return nil, fault.InField("/type", "not_allowed_value", "Must be a type of event: GET /api/event-types lists them.")
}

func replayWebhook(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.WebhookReplay](r)
	if err != nil {
		return server.Reply{}, err
	}
	count, next, err := r.Webhooks.Replay(r.Context(), r.By, webhookID(r), in.From, in.To, in.OnlyFailed)
	if err != nil {
		return server.Reply{}, err
	}
	out := openapi.WebhookReplayed{Queued: count, Next: openapi.OrNull(next)}
	return server.Reply{Status: http.StatusAccepted, Body: out}, nil
}

func listWebhookDeliveries(r *server.Call) (server.Reply, error) {
	f := webhook.DeliveryFilter{State: webhook.State(r.Query.Get("state")), Type: r.Query.Get("type")}
	return server.List(r, toDelivery, func(q page.Query) (webhook.DeliveryPage, error) {
		return r.Webhooks.Deliveries(r.Context(), r.By, webhookID(r), f, q)
	})
}

func retryWebhookDelivery(r *server.Call) (server.Reply, error) {
	d, err := r.Webhooks.Retry(r.Context(), r.By, webhookID(r),
		server.PathID[webhook.DeliveryID](r, "delivery_id", webhook.DeliveryPrefix))
	if err != nil {
		return server.Reply{}, err
	}
	return server.Reply{Status: http.StatusAccepted, Body: toDelivery(d)}, nil
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
