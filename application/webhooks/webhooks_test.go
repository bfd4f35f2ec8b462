package webhooks_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/webhooks"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	now   = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	admin = identity.Actor{Org: "org_a", Workspace: "wsp_a", User: "usr_a", Role: identity.Admin,
		Ceiling: identity.Admin, At: now}
)

// mockedService is the use cases on mocked ports.
type mockedService struct {
	store   *mocks.MockWebhooks
	queue   *mocks.MockWebhookQueue
	events  *mocks.MockEvents
	sealer  *mocks.MockCredentialSealer
	sender  *mocks.MockWebhookSender
	people  *mocks.MockWorkspaces
	chats   *mocks.MockChats     // in a transaction
	lists   *mocks.MockChatLists // the same
	mailer  *mocks.MockMailer
	jobs    []job.Job // that settling queued
	service *webhooks.Service
	deliver *webhooks.Deliverer
}

func newMocked(t *testing.T) *mockedService {
	t.Helper()
	c := gomock.NewController(t)
	s := &mockedService{
		store: mocks.NewMockWebhooks(c), queue: mocks.NewMockWebhookQueue(c), events: mocks.NewMockEvents(c),
		sealer: mocks.NewMockCredentialSealer(c), sender: mocks.NewMockWebhookSender(c),
		people: mocks.NewMockWorkspaces(c), mailer: mocks.NewMockMailer(c),
		chats: mocks.NewMockChats(c), lists: mocks.NewMockChatLists(c),
	}
	atomic := mocks.NewMockAtomic(c)
	atomic.EXPECT().Atomically(gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, act func(ports.Stores) error) error {
			return act(ports.Stores{Webhooks: s.store,
				ChatStores: ports.ChatStores{Chats: s.chats, ChatLists: s.lists}})
		})
	s.sealer.EXPECT().Digest("webhook secret", gomock.Any(), gomock.Any()).DoAndReturn(
		func(_ string, parts ...[]byte) (key [32]byte) {
			copy(key[:], bytes.Join(parts, nil))
			return key
		}).AnyTimes()
	keys := webhooks.NewKeys(s.sealer)
	egress := func(identity.OrgID) identity.Egress { return identity.Egress{} }
	s.service = webhooks.NewService(s.store, webhooks.Deps{
		Atomic: atomic, Events: s.events, Workspaces: s.people,
		Keys: keys, Sender: s.sender, Egress: egress, Mailer: s.mailer,
	})
	s.deliver = webhooks.NewDeliverer(s.queue, s.events, keys, s.sender, egress)
	return s
}

func endpoint() *webhook.Endpoint {
	return &webhook.Endpoint{ID: "whk_1", Org: "org_a", Workspace: "wsp_a", URL: "https://app.example.com/hook",
		Events: []string{"member.*"}, Enabled: true, Secret: 1, Place: 3, CreatedBy: "usr_first", Owner: "usr_a",
		Revision: 1}
}

// holds lets the store have an endpoint, which updates change.
func (s *mockedService) holds(e *webhook.Endpoint) {
	s.store.EXPECT().Get(gomock.Any(), admin.Workspace, e.ID).Return(e, nil).AnyTimes()
	s.store.EXPECT().Update(gomock.Any(), admin, e.ID, gomock.Any()).DoAndReturn(func(_ context.Context,
		_ identity.Actor, _ webhook.ID, change func(*webhook.Endpoint, int64) error) (*webhook.Endpoint, error) {
		return e, change(e, 8)
	}).AnyTimes()
}

func TestASecretIsDerivedAndHeadersAreSealed(t *testing.T) {
	s := newMocked(t)
	s.store.EXPECT().Add(gomock.Any(), admin, gomock.Any()).DoAndReturn(func(_ context.Context, _ identity.Actor,
		change func(int, int64) (*webhook.Endpoint, error)) error {
		_, err := change(0, 7)
		return err
	})
	s.sealer.EXPECT().Seal([]byte(`{"B":"2","a":"1"}`), gomock.Any()).Return([]byte("sealed"), nil)
	d := webhook.Draft{URL: "https://example.com", Events: []string{"*"}}
	e, key, err := s.service.Create(t.Context(), admin, d,
		map[string]string{"a": "1", "B": "2"})
	if err != nil || e.Place != 7 || string(e.Sealed) != "sealed" || len(e.Headers) != 2 ||
		!bytes.HasPrefix(key, []byte(string(e.ID)+"1")) {
		t.Errorf("%+v, %q, %v", e, key, err)
	}
	if _, _, err := s.service.Create(t.Context(), admin, webhook.Draft{}, map[string]string{"Host": "x"}); err == nil {
		t.Error("a header that Atrium sets is accepted")
	}
}

func TestEndpointsAreListedChangedRotatedAndDeletedByAdmins(t *testing.T) {
	s, e := newMocked(t), endpoint()
	s.holds(e)
	s.store.EXPECT().List(gomock.Any(), admin.Workspace).Return([]webhook.Endpoint{*e}, nil)
	if all, err := s.service.List(t.Context(), admin); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	changedEndpoint, err := s.service.Change(t.Context(), admin, e.ID, nil, webhook.Changes{Enabled: new(false)},
		map[string]string{})
	if err != nil || changedEndpoint.Enabled || changedEndpoint.Sealed != nil {
		t.Errorf("%+v, %v", changedEndpoint, err)
	}
	if enabledEndpoint, err := s.service.Change(t.Context(), admin, e.ID, nil, webhook.Changes{Enabled: new(true)},
		nil); err != nil || enabledEndpoint.Place != 8 {
		t.Errorf("%+v, %v", enabledEndpoint, err)
	}
	if _, key, err := s.service.Rotate(t.Context(), admin, e.ID, nil, time.Hour); err != nil ||
		!bytes.HasPrefix(key, []byte("whk_12")) {
		t.Errorf("%q, %v", key, err)
	}
	template := &chat.Template{ID: "ctpl_1", Transcripts: e.ID}
	s.lists.EXPECT().Forwarding(gomock.Any(), admin.Workspace, e.ID).Return([]chat.ID{"ctpl_1"}, nil)
	s.chats.EXPECT().Update(gomock.Any(), admin, chat.ID("ctpl_1"), gomock.Any()).DoAndReturn(func(_ context.Context,
		_ identity.Actor, _ chat.ID, change func(*chat.Template) error) (*chat.Template, error) {
		return template, change(template)
	})
	if err := s.service.Delete(t.Context(), admin, e.ID, nil); err != nil || !e.Deleted ||
		template.Transcripts != "" || len(template.Recorded()) != 1 {
		t.Errorf("%+v, %+v, %v", e, template, err)
	}
	member := admin
	member.Role = identity.Member
	_, list := s.service.List(t.Context(), member)
	_, got := s.service.Get(t.Context(), member, e.ID)
	_, failure := s.service.Test(t.Context(), member, e.ID, "member.added", "x", nil)
	_, found := s.service.Deliveries(t.Context(), member, e.ID, webhook.DeliveryFilter{}, page.Query{})
	_, retriedErr := s.service.Retry(t.Context(), member, e.ID, "whd_1")
	_, _, replay := s.service.Replay(t.Context(), member, e.ID, 1, 0, false)
	for i, err := range []error{list, got, failure, found, retriedErr, replay} {
		if !errors.Is(err, identity.ErrForbidden) {
			t.Errorf("call %d of a member: %v", i, err)
		}
	}
}

func TestATestIsSentToADisabledEndpointAndNotRecorded(t *testing.T) {
	s, e := newMocked(t), endpoint()
	e.Enabled, e.Sealed = false, []byte("sealed")
	s.holds(e)
	s.sealer.EXPECT().Open([]byte("sealed"), gomock.Any()).Return([]byte(`{"X-A":"1"}`), nil)
	s.sender.EXPECT().Send(gomock.Any(), gomock.Any(), gomock.Any(), now).DoAndReturn(func(_ context.Context,
		target ports.WebhookTarget, d *webhook.Delivery, _ time.Time) webhook.Outcome {
		if target.URL != e.URL || target.Headers["X-A"] != "1" || len(target.Keys) != 1 ||
			d.Event.Type != "member.added" ||
			d.Event.Seq != 0 {
			t.Errorf("sent is %+v to %+v", d, target)
		}
		return webhook.Outcome{Status: 204}
	})
	if o, err := s.service.Test(t.Context(), admin, e.ID, "member.added", "x", nil); err != nil || !o.Delivered() {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestAReplaySendsWhatTheEndpointGetsFromAPartOfTheFeed(t *testing.T) {
	s, e := newMocked(t), endpoint()
	s.holds(e)
	items := []event.Event{{ID: "evt_4", Type: "member.added", Seq: 4}, {ID: "evt_5", Type: "group.created", Seq: 5},
		{ID: "evt_6", Type: "member.removed", Seq: 6}, {ID: "evt_7", Type: "member.added", Seq: 7}}
	s.events.EXPECT().Feed(gomock.Any(), admin.Org, admin.Workspace, event.FeedQuery{After: 3, Limit: 1000}).
		Return(event.Feed{Items: items, Last: 7, More: true}, nil).Times(2)
	for end, want := range map[int64]struct{ n, next int64 }{6: {2, 0}, 0: {3, 8}} {
		s.store.EXPECT().Replay(gomock.Any(), admin.Workspace, e.ID, gomock.Len(int(want.n)), true, now).
			Return(int(want.n), nil)
		jobs, next, err := s.service.Replay(t.Context(), admin, e.ID, 4, end, true)
		if err != nil || jobs != int(want.n) || next != want.next {
			t.Errorf("to %d: %d, %d, %v", end, jobs, next, err)
		}
	}
	e.Enabled = false
	if _, _, err := s.service.Replay(t.Context(), admin, e.ID, 4, 0, true); !errors.Is(err, webhook.ErrDisabled) {
		t.Errorf("of a disabled one: %v", err)
	}
	if _, err := s.service.Retry(t.Context(), admin, e.ID, "whd_1"); !errors.Is(err, webhook.ErrDisabled) {
		t.Errorf("of a disabled one: %v", err)
	}
}

func TestARetryMakesADeliveryPending(t *testing.T) {
	s, e := newMocked(t), endpoint()
	s.holds(e)
	d := &webhook.Delivery{ID: "whd_1", State: webhook.Failed, Attempts: 10}
	s.store.EXPECT().Retry(gomock.Any(), admin.Workspace, e.ID, d.ID, gomock.Any()).DoAndReturn(func(_ context.Context,
		_ identity.WorkspaceID, _ webhook.ID, _ webhook.DeliveryID,
		change func(*webhook.Delivery) error) (*webhook.Delivery, error) {
		return d, change(d)
	})
	if got, err := s.service.Retry(t.Context(), admin, e.ID, d.ID); err != nil || got.State != webhook.Pending ||
		got.Attempts != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// works lets an endpoint have deliveries that end with statuses, and returns when it is due again.
func (s *mockedService) works(t *testing.T, e *webhook.Endpoint, statuses ...int) (due time.Time) {
	t.Helper()
	pending := make([]webhook.Delivery, len(statuses))
	ends := map[webhook.DeliveryID]int{}
	for i := range pending {
		pending[i] = e.NewDelivery(event.Event{ID: "evt", Type: "member.added"}, now)
		ends[pending[i].ID] = statuses[i]
	}
	s.sender.EXPECT().Send(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Times(len(pending)).DoAndReturn(
		func(_ context.Context, _ ports.WebhookTarget, d *webhook.Delivery, _ time.Time) webhook.Outcome {
			return webhook.Outcome{Status: ends[d.ID]} // they are sent at the same time, in any order
		})
	s.queue.EXPECT().Pending(gomock.Any(), e.ID).Return(len(pending), nil).AnyTimes()
	s.events.EXPECT().Feed(gomock.Any(), e.Org, e.Workspace, gomock.Any()).
		Return(event.Feed{Last: e.Place}, nil).AnyTimes()
	s.queue.EXPECT().Next(gomock.Any(), e.ID, gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context,
		_ webhook.ID, _ time.Time, n int) ([]webhook.Delivery, error) {
		next := pending[:min(n, len(pending))]
		pending = pending[len(next):]
		return next, nil
	}).AnyTimes()
	s.queue.EXPECT().Settle(gomock.Any(), gomock.Any(), e, gomock.Any(), gomock.Any()).DoAndReturn(func(
		_ context.Context, _ identity.Actor, _ *webhook.Endpoint, _ []webhook.Delivery,
		change func(*webhook.Endpoint) []job.Job) (*webhook.Endpoint, error) {
		s.jobs = append(s.jobs, change(e)...)
		return e, nil
	}).AnyTimes()
	s.queue.EXPECT().Release(gomock.Any(), e, gomock.Any()).DoAndReturn(func(_ context.Context,
		_ *webhook.Endpoint, now time.Time) error {
		due = now
		return nil
	})
	require.NoError(t, s.deliver.Work(t.Context(), e))
	return due
}

func TestAnEndpointWorksOffItsDeliveries(t *testing.T) {
	s, e := newMocked(t), endpoint()
	if due := s.works(t, e, 204, 500, 204); !due.IsZero() || e.Failures != 0 || e.SucceededAt.IsZero() {
		t.Errorf("due %s, %+v", due, e)
	}
}

func TestAnEndpointThatFailsGetsOneDeliveryAndThenAPause(t *testing.T) {
	s, e := newMocked(t), endpoint()
	e.Failures = webhook.SoloFailures
	s.queue.EXPECT().Next(gomock.Any(), e.ID, gomock.Any(), 1).Return([]webhook.Delivery{
		e.NewDelivery(event.Event{Type: "member.added"}, now)}, nil)
	if due := s.works(t, e, 500); time.Until(due) < 3*time.Second || e.Failures != webhook.SoloFailures+1 {
		t.Errorf("due %s, %+v", due, e)
	}
}

func TestNewEventsBecomeDeliveriesUnlessManyArePending(t *testing.T) {
	for pending, want := range map[int]int{0: 1, 1000: 0} {
		s, e := newMocked(t), endpoint()
		s.queue.EXPECT().Pending(gomock.Any(), e.ID).Return(pending, nil)
		if want > 0 {
			s.events.EXPECT().Feed(gomock.Any(), e.Org, e.Workspace, event.FeedQuery{After: 3, Limit: 100}).Return(
				event.Feed{Last: 5, Items: []event.Event{{Type: "member.added", Seq: 4},
					{Type: "group.created", Seq: 5}}}, nil)
			s.queue.EXPECT().Queue(gomock.Any(), e, gomock.Len(want), int64(5)).Return(nil)
		}
		s.queue.EXPECT().Next(gomock.Any(), e.ID, gomock.Any(), 5).Return(nil, nil)
		s.queue.EXPECT().Release(gomock.Any(), e, time.Time{}).Return(nil)
		assert.NoError(t, s.deliver.Work(t.Context(), e))
	}
}

func TestAStopBeginsNoDelivery(t *testing.T) {
	s, e := newMocked(t), endpoint()
	s.queue.EXPECT().Release(gomock.Any(), e, gomock.Not(time.Time{})).Return(nil) // due at once for another node
	ctx, stop := context.WithCancel(t.Context())
	stop()
	assert.NoError(t, s.deliver.Work(ctx, e))
}

func TestAnEndpointThatIsDeletedAmidADeliveryIsNoError(t *testing.T) {
	s, e := newMocked(t), endpoint()
	s.queue.EXPECT().Pending(gomock.Any(), e.ID).Return(1000, nil)
	s.queue.EXPECT().Next(gomock.Any(), e.ID, gomock.Any(), gomock.Any()).Return([]webhook.Delivery{
		e.NewDelivery(event.Event{Type: "member.added"}, now)}, nil)
	s.sender.EXPECT().Send(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(webhook.Outcome{Status: 204})
	s.queue.EXPECT().Settle(gomock.Any(), gomock.Any(), e, gomock.Any(), gomock.Any()).
		Return(nil, webhook.ErrNotFound)
	s.queue.EXPECT().Release(gomock.Any(), e, gomock.Any()).Return(nil)
	assert.NoError(t, s.deliver.Work(t.Context(), e))
}
