package presences

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
)

// handlers serve who is online.
type handlers struct {
	heartbeats *server.Limiter // by user
}

// ownPresence is the alias of the caller's own id in a path.
const ownPresence = "me"

func presenceID(r *server.Call) (id presence.ID, isOwn bool) {
	isOwn = server.PathVar(r.Request, "presence_id") == ownPresence
	return server.PathID[presence.ID](r, "presence_id", presence.Prefix), isOwn
}

// sendHeartbeat responds with 201 to a device's first heartbeat.
func (a *handlers) sendHeartbeat(r *server.Call) (server.Reply, error) {
	if server.TakeAll(r.ReplyHeader, r.By.At, 1, a.heartbeats.Allowance(string(r.By.User))) != nil {
		return server.Reply{}, r.API.Refuse("heartbeat_rate", server.ErrRateLimited)
	}
	in, err := server.Decode[openapi.Heartbeat](r)
	if err != nil {
		return server.Reply{}, err
	}
	h := toHeartbeat(in)
	v, hasBegun, err := r.Presences.Beat(r.Context(), r.By, h)
	if err != nil {
		return server.Reply{}, err
	}
	body := toPresence(&v)
	body.HeartbeatAfterSeconds = int(h.Every() / time.Second)
	if hasBegun {
		return server.Created("/api/presence/"+string(v.ID), body), nil
	}
	return server.OK(body), nil
}

// listPresences returns counts and the position in the stream to operators only.
func listPresences(r *server.Call) (server.Reply, error) {
	var found presences.Listed
	items, next, err := server.PageOf(r, toPresence, func(q page.Query) (_ page.Of[presence.View], err error) {
		found, err = r.Presences.List(r.Context(), r.By, presenceFilter(r), q)
		return found.Of, err
	})
	out := openapi.PresenceList{Data: items, NextCursor: next}
	if r.By.Operator {
		out.Seq = &found.Seq
		out.Counts = &openapi.PresenceCounts{
			Online:  found.Counts[presence.Online],
			Away:    found.Counts[presence.Away],
			Dnd:     found.Counts[presence.DND],
			Offline: found.Counts[presence.Offline],
		}
	}
	return server.OK(out), err
}

func getPresence(r *server.Call) (server.Reply, error) {
	id, isOwn := presenceID(r)
	var v presence.View
	var err error
	if isOwn {
		v, err = r.Presences.Mine(r.Context(), r.By)
	} else {
		v, err = r.Presences.Get(r.Context(), r.By, id)
	}
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toPresence(&v)), nil
}

func deletePresence(r *server.Call) (server.Reply, error) {
	id, isOwn := presenceID(r)
	if isOwn {
		return server.NoContent, r.Presences.DeleteMine(r.Context(), r.By)
	}
	return server.NoContent, r.Presences.Delete(r.Context(), r.By, id)
}
