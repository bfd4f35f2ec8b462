// Package webhooks holds the use cases of webhooks: a workspace's members manage the endpoints, and nodes deliver
// events to them.
package webhooks

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// EgressOf returns the networks beyond the public ones that an org lets its workspaces reach.
type EgressOf func(identity.OrgID) identity.Egress

// Service holds the use cases of the people who manage webhooks.
type Service struct {
	webhooks ports.Webhooks
	deps     Deps
}

// Deps are a Service's dependencies other than its store.
type Deps struct {
	Atomic     ports.Atomic
	Events     ports.Events
	Workspaces ports.Workspaces
	Keys       Keys
	Sender     ports.WebhookSender
	Egress     EgressOf
	Mailer     ports.Mailer // to the creators of endpoints that fail
}

// NewService returns the use cases on the endpoints of w.
func NewService(w ports.Webhooks, d Deps) *Service {
	return &Service{webhooks: w, deps: d}
}

// Keys seals the headers of endpoints, and derives their signing keys: no secret is stored.
type Keys struct{ sealer ports.CredentialSealer }

// NewKeys returns a deployment's Keys.
func NewKeys(s ports.CredentialSealer) Keys { return Keys{s} }

// signing returns the signing key with a number. It is the same on every node, and after a rotation of the keyring.
func (k Keys) signing(endpoint webhook.ID, number int) []byte {
	key := k.sealer.Digest("webhook secret", []byte(endpoint), []byte(strconv.Itoa(number)))
	return key[:]
}

func associated(org identity.OrgID, ws identity.WorkspaceID) []byte {
	return []byte("webhook headers\x00" + string(org) + "\x00" + string(ws))
}

// seal returns the names of headers, sorted, and the sealed values; nothing without headers.
func (k Keys) seal(by identity.Actor, headers map[string]string) (names []string, ciphertext []byte, err error) {
	if len(headers) == 0 {
		return nil, nil, nil
	}
	plain, err := json.Marshal(headers)
	if err != nil {
		return nil, nil, err
	}
	ciphertext, err = k.sealer.Seal(plain, associated(by.Org, by.Workspace))
	return slices.Sorted(maps.Keys(headers)), ciphertext, err
}

// target returns where an endpoint's deliveries go at a time.
func (k Keys) target(e *webhook.Endpoint, egress EgressOf, now time.Time) (ports.WebhookTarget, error) {
	target := ports.WebhookTarget{URL: e.URL, Egress: egress(e.Org)}
	for _, number := range e.Secrets(now) {
		target.Keys = append(target.Keys, k.signing(e.ID, number))
	}
	if e.Sealed == nil {
		return target, nil
	}
	plain, err := k.sealer.Open(e.Sealed, associated(e.Org, e.Workspace))
	if err != nil {
		return target, err
	}
	return target, json.Unmarshal(plain, &target.Headers)
}

// List returns the endpoints of by's workspace, newest first. Requires the admin role, as do all methods of Service.
func (s *Service) List(ctx context.Context, by identity.Actor) ([]webhook.Endpoint, error) {
	if err := webhook.MayManage(by); err != nil {
		return nil, err
	}
	return s.webhooks.List(ctx, by.Workspace)
}

// Failing counts the endpoints of by's workspace that have failed for an hour, or that Atrium has disabled.
func (s *Service) Failing(ctx context.Context, by identity.Actor) (n int, err error) {
	all, err := s.List(ctx, by)
	for i := range all {
		if all[i].NeedsAttention() {
			n++
		}
	}
	return n, err
}

// Get returns one endpoint.
func (s *Service) Get(ctx context.Context, by identity.Actor, endpoint webhook.ID) (*webhook.Endpoint, error) {
	if err := webhook.MayManage(by); err != nil {
		return nil, err
	}
	return s.webhooks.Get(ctx, by.Workspace, endpoint)
}

// Create creates an endpoint, and returns its signing key, which is shown only once.
func (s *Service) Create(ctx context.Context, by identity.Actor, d webhook.Draft,
	headers map[string]string) (e *webhook.Endpoint, key []byte, err error) {
	if err := webhook.CheckHeaders(headers); err != nil {
		return nil, nil, err
	}
	if d.Headers, d.Sealed, err = s.deps.Keys.seal(by, headers); err != nil {
		return nil, nil, err
	}
	err = s.webhooks.Add(ctx, by, func(count int, place int64) (_ *webhook.Endpoint, err error) {
		e, err = webhook.New(by, count, place, d)
		return e, err
	})
	if err != nil {
		return nil, nil, err
	}
	return e, s.deps.Keys.signing(e.ID, e.Secret), nil
}

// Change changes an endpoint. headers replaces all of its headers; nil keeps them.
func (s *Service) Change(ctx context.Context, by identity.Actor, endpoint webhook.ID, match revision.Match,
	c webhook.Changes,
	headers map[string]string) (*webhook.Endpoint, error) {
	if err := webhook.CheckHeaders(headers); err != nil {
		return nil, err
	}
	if headers != nil {
		names, ciphertext, err := s.deps.Keys.seal(by, headers)
		if err != nil {
			return nil, err
		}
		c.Headers, c.Sealed = &names, ciphertext
	}
	return s.webhooks.Update(ctx, by, endpoint, func(e *webhook.Endpoint, place int64) error {
		return e.Change(by, match, place, c)
	})
}

// Confirm makes by the owner if an endpoint's owner has lost the role.
func (s *Service) Confirm(
	ctx context.Context, by identity.Actor, endpoint webhook.ID, match revision.Match,
) (*webhook.Endpoint, error) {
	return s.webhooks.Update(ctx, by, endpoint, func(e *webhook.Endpoint, _ int64) error {
		return e.Confirm(by,
			match)
	})
}

// Delete ends an endpoint, its deliveries, and the transcripts of chats that it gets.
func (s *Service) Delete(ctx context.Context, by identity.Actor, endpoint webhook.ID, match revision.Match) error {
	return s.deps.Atomic.Atomically(ctx, func(tx ports.Stores) error {
		if _, err := tx.Webhooks.Update(ctx, by, endpoint, func(e *webhook.Endpoint, _ int64) error {
			return e.Delete(by, match)
		}); err != nil {
			return err
		}
		all, err := tx.ChatLists.Forwarding(ctx, by.Workspace, endpoint)
		if err != nil {
			return err
		}
		for _, id := range all {
			if _, err := tx.Chats.Update(ctx, by, id, func(t *chat.Template) error {
				t.EndTranscripts(by)
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Rotate gives an endpoint another signing key, which is shown only once. The previous key also signs during grace.
func (s *Service) Rotate(ctx context.Context, by identity.Actor, endpoint webhook.ID, match revision.Match,
	grace time.Duration) (e *webhook.Endpoint, key []byte, err error) {
	e, err = s.webhooks.Update(ctx, by, endpoint, func(e *webhook.Endpoint, _ int64) error {
		return e.Rotate(by, match, grace)
	})
	if err != nil {
		return nil, nil, err
	}
	return e, s.deps.Keys.signing(e.ID, e.Secret), nil
}

// Test sends an event with given data to an endpoint, even if it is disabled, and returns the outcome. The event is not
// recorded, and has no place in the feed.
func (s *Service) Test(ctx context.Context, by identity.Actor, endpoint webhook.ID, kind, subject string,
	data map[string]any) (webhook.Outcome, error) {
	e, err := s.Get(ctx, by, endpoint)
	if err != nil {
		return webhook.Outcome{}, err
	}
	target, err := s.deps.Keys.target(e, s.deps.Egress, by.At)
	if err != nil {
		return webhook.Outcome{}, err
	}
	d := e.NewDelivery(event.Event{ID: id.New(event.Prefix), Org: by.Org, Workspace: by.Workspace, Type: kind,
		Actor: by.User, Subject: subject, Data: data, At: by.At}, by.At)
	return s.deps.Sender.Send(ctx, target, &d, by.At), nil
}

// Deliveries lists an endpoint's deliveries, newest first.
func (s *Service) Deliveries(ctx context.Context, by identity.Actor, endpoint webhook.ID, f webhook.DeliveryFilter,
	q page.Query) (webhook.DeliveryPage, error) {
	if _, err := s.Get(ctx, by, endpoint); err != nil {
		return webhook.DeliveryPage{}, err
	}
	return s.webhooks.Deliveries(ctx, by.Workspace, endpoint, f, q)
}

// Retry makes a delivery due at once, as if it had never been tried.
func (s *Service) Retry(ctx context.Context, by identity.Actor, endpoint webhook.ID,
	delivery webhook.DeliveryID) (*webhook.Delivery, error) {
	if err := s.enabled(ctx, by, endpoint); err != nil {
		return nil, err
	}
	return s.webhooks.Retry(ctx, by.Workspace, endpoint, delivery, func(d *webhook.Delivery) error {
		d.Again(by.At)
		return nil
	})
}

// enabled returns an error unless an endpoint is enabled.
func (s *Service) enabled(ctx context.Context, by identity.Actor, endpoint webhook.ID) error {
	e, err := s.Get(ctx, by, endpoint)
	if err == nil && !e.Enabled {
		err = webhook.ErrDisabled
	}
	return err
}

// maxReplayed is the maximum number of events that one Replay examines.
const maxReplayed = 1000

// Replay delivers the events from one Seq to another again, at most 1,000 of them. A zero to is the newest event. With
// onlyFailed, only deliveries that have failed are repeated. It returns how many are queued, and the Seq with which to
// continue; 0 at the end.
func (s *Service) Replay(ctx context.Context, by identity.Actor, endpoint webhook.ID, from, to int64,
	onlyFailed bool) (count int, next int64, err error) {
	if err := s.enabled(ctx, by, endpoint); err != nil {
		return 0, 0, err
	}
	e, err := s.webhooks.Get(ctx, by.Workspace, endpoint)
	if err != nil {
		return 0, 0, err
	}
	feed, err := s.deps.Events.Feed(ctx, by.Org, by.Workspace, event.FeedQuery{After: from - 1, Limit: maxReplayed})
	if err != nil {
		return 0, 0, err
	}
	var all []webhook.Delivery
	for _, item := range feed.Items {
		if e.Gets(item.Type) && (to == 0 || item.Seq <= to) {
			all = append(all, e.NewDelivery(item, by.At))
		}
	}
	if feed.More && (to == 0 || feed.Last < to) {
		next = feed.Last + 1
	}
	count, err = s.webhooks.Replay(ctx, by.Workspace, endpoint, all, onlyFailed, by.At)
	return count, next, err
}
