package presences

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
)

// toPresence returns a presence as the caller may see it, without hidden fields.
func toPresence(v *presence.View) openapi.Presence {
	out := openapi.Presence{
		ID:           string(v.ID),
		UserID:       string(v.User),
		Status:       openapi.PresenceStatus(v.Status),
		Text:         v.Claim.Text,
		Emoji:        v.Claim.Emoji,
		LastActiveAt: convert.OrNullTime(v.ActiveAt),
	}
	if v.Access < presence.Whole {
		return out
	}
	out.Source = presenceSource(v.Manual)
	out.Seq, out.ManualUntil = &v.Seq, convert.OrNullTime(v.Until)
	out.LastSeenAt, out.ExpiresAt = convert.OrNullTime(v.SeenAt), convert.OrNullTime(v.ExpiresAt)
	devices := make([]openapi.PresenceDevice, len(v.Devices))
	for i, d := range v.Devices {
		devices[i] = openapi.PresenceDevice{
			ID:         d.ID,
			Kind:       openapi.DeviceKind(d.Kind),
			State:      deviceActivity(d.Idle),
			LastSeenAt: openapi.Time(d.SeenAt),
		}
	}
	out.Devices = &devices
	if v.Access == presence.Own {
		out.ManualStatus = claimedStatus(v.Claim.Status)
	}
	return out
}

func presenceSource(isManual bool) openapi.PresenceSource {
	if isManual {
		return openapi.PresenceSourceManual
	}
	return openapi.PresenceSourceAuto
}

func deviceActivity(isIdle bool) openapi.DeviceActivity {
	if isIdle {
		return openapi.DeviceActivityIdle
	}
	return openapi.DeviceActivityActive
}

func claimedStatus(s presence.Manual) openapi.ClaimedStatus {
	if s == presence.Auto {
		return openapi.ClaimedStatusAuto
	}
	return openapi.ClaimedStatus(s)
}

// presenceFilter reads a list's filter.
func presenceFilter(r *server.Call) presence.Filter {
	return presence.Filter{
		Status:   presence.Status(r.Query.Get("status")),
		User:     identity.UserID(r.Query.Get("user_id")),
		SinceSeq: int64(r.Number("since_seq", 0)),
	}
}

func toHeartbeat(in openapi.Heartbeat) presence.Heartbeat {
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
	return h
}
