package rest

import (
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
)

// Limits of the heartbeats of all of a user's devices: enough for twenty of them at the shortest interval that the
// server asks for.
const (
	beatsPerMinute = 120
	beatsAtOnce    = 30
)

func (a *API) presenceOperations() []operation {
	const one = "/api/presence/{presence_id}"
	return []operation{
		{http.MethodPost, "/api/presence", command(a.sendHeartbeat)}, // first, where the router finds it soonest
		{http.MethodGet, "/api/presence", query(a.listPresences)},
		{http.MethodGet, streamPath, streaming(a.streamPresences)},
		{http.MethodPost, "/api/presence/stream-tickets", command(a.issueStreamTicket)},
		{http.MethodGet, one, query(a.getPresence)},
		{http.MethodDelete, one, command(a.deletePresence)},
	}
}

// ownPresence is the alias of the caller's own id in a path.
const ownPresence = "me"

func presenceID(r *request) (id presence.ID, own bool) {
	return pathID[presence.ID](r, "presence_id", presence.Prefix), mux.Vars(r.Request)["presence_id"] == ownPresence
}

func (a *API) sendHeartbeat(r *request) (reply, error) {
	if !a.heartbeats.take(r.answer, string(r.by.User), r.by.At) {
		return reply{}, r.api.refuse("heartbeat_rate", errRateLimited)
	}
	in, err := decode[openapi.Heartbeat](r)
	if err != nil {
		return reply{}, err
	}
	h := presence.Heartbeat{
		User:   identity.UserID(in.UserID),
		Device: in.DeviceID,
		Kind:   presence.Kind(in.DeviceKind),
		Idle:   in.Activity == openapi.DeviceActivityIdle,
		TTL:    time.Duration(in.TTLSeconds) * time.Second,
		Text:   in.Text,
		Emoji:  in.Emoji,
		Until:  (*time.Time)(in.ManualUntil),
	}
	if h.Device == "" {
		h.Device = presence.DefaultDevice
	}
	if h.Kind == "" {
		h.Kind = presence.API
	}
	if h.TTL == 0 {
		h.TTL = presence.DefaultTTL
	}
	if in.Status != nil {
		h.Status = new(presence.Manual(*in.Status))
		if *in.Status == openapi.ClaimedStatusAuto {
			h.Status = new(presence.Auto)
		}
	}
	v, begun, err := r.Presences.Beat(r.Context(), r.by, h)
	if err != nil {
		return reply{}, err
	}
	body := toPresence(&v)
	body.HeartbeatAfterSeconds = int(h.Every() / time.Second)
	if begun {
		return created("/api/presence/"+body.ID, body), nil
	}
	return ok(body), nil
}

func (a *API) listPresences(r *request) (reply, error) {
	f := presence.Filter{
		Status:   presence.Status(r.query.Get("status")),
		User:     identity.UserID(r.query.Get("user_id")),
		SinceSeq: int64(r.number("since_seq", 0)),
	}
	var found presences.Listed
	items, next, err := pageOf(r, toPresence, func(q page.Query) (_ page.Of[presence.View], err error) {
		found, err = r.Presences.List(r.Context(), r.by, f, q)
		return found.Of, err
	})
	out := openapi.PresenceList{Data: items, NextCursor: next}
	if r.by.Operator {
		out.Seq = &found.Seq
		out.Counts = &openapi.PresenceCounts{
			Online:  found.Counts[presence.Online],
			Away:    found.Counts[presence.Away],
			Dnd:     found.Counts[presence.DND],
			Offline: found.Counts[presence.Offline],
		}
	}
	return ok(out), err
}

func (a *API) getPresence(r *request) (reply, error) {
	id, own := presenceID(r)
	var v presence.View
	var err error
	if own {
		v, err = r.Presences.Mine(r.Context(), r.by)
	} else {
		v, err = r.Presences.Get(r.Context(), r.by, id)
	}
	if err != nil {
		return reply{}, err
	}
	return ok(toPresence(&v)), nil
}

func (a *API) deletePresence(r *request) (reply, error) {
	id, own := presenceID(r)
	if own {
		return noContent, r.Presences.DeleteMine(r.Context(), r.by)
	}
	return noContent, r.Presences.Delete(r.Context(), r.by, id)
}
