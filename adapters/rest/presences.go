package rest

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
)

// Limits of the heartbeats of all of a user's devices: enough for twenty of them at the shortest interval that the
// server asks for.
const (
	beatsPerMinute = 120
	beatsAtOnce    = 30
)

func (a *presencesArea) presenceOperations() []operation {
	const one = "/api/presence/{presence_id}"
	return []operation{
		postOf("/api/presence", command(a.sendHeartbeat)), // first, so that the router finds it soonest
		getOf("/api/presence", query(listPresences)),
		getOf(streamPath, streamPresences),
		postOf("/api/presence/stream-tickets", command(issueStreamTicket)),
		getOf(one, query(getPresence)),
		deleteOf(one, command(deletePresence)),
	}
}

// ownPresence is the alias of the caller's own id in a path.
const ownPresence = "me"

func presenceID(r *request) (id presence.ID, own bool) {
	return pathID[presence.ID](r, "presence_id", presence.Prefix), pathVar(r.Request, "presence_id") == ownPresence
}

func (a *presencesArea) sendHeartbeat(r *request) (reply, error) {
	if takeAll(r.answer, r.by.At, 1, allowance{a.heartbeats, string(r.by.User)}) != nil {
		return reply{}, r.api.refuse("heartbeat_rate", errRateLimited)
	}
	in, err := decode[openapi.Heartbeat](r)
	if err != nil {
		return reply{}, err
	}
	h := toHeartbeat(in)
	v, begun, err := r.Presences.Beat(r.Context(), r.by, h)
	if err != nil {
		return reply{}, err
	}
	body := &presenceBody{v, int64(h.Every() / time.Second)}
	if begun {
		return created("/api/presence/"+string(v.ID), body), nil
	}
	return ok(body), nil
}

func listPresences(r *request) (reply, error) {
	var found presences.Listed
	items, next, err := pageOf(r, toPresence, func(q page.Query) (_ page.Of[presence.View], err error) {
		found, err = r.Presences.List(r.Context(), r.by, presenceFilter(r), q)
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

func getPresence(r *request) (reply, error) {
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
	return ok(&presenceBody{View: v}), nil
}

func deletePresence(r *request) (reply, error) {
	id, own := presenceID(r)
	if own {
		return noContent, r.Presences.DeleteMine(r.Context(), r.by)
	}
	return noContent, r.Presences.Delete(r.Context(), r.by, id)
}

func presencesAreaOf() area {
	return presencesAreaWith(newLimiter(beatsPerMinute, beatsAtOnce))
}

func presencesAreaWith(heartbeats *limiter) area {
	a := &presencesArea{heartbeats}
	return area{name: "presences", operations: a.presenceOperations()}
}

// presencesArea is who is online.
type presencesArea struct {
	heartbeats *limiter // by user
}
