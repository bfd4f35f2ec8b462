package presences

import (
	"strconv"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/presence"
)

// presenceBody encodes itself as toPresence and server.Encode do, without building the type of the contract. A
// heartbeat returns it.
type presenceBody struct {
	presence.View
	heartbeatAfter int64 // seconds; 0: left out
}

// AppendJSON implements appender.
func (p *presenceBody) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	isWhole := p.Access >= presence.Whole
	if isWhole {
		b = append(b, `"devices":[`...)
		for i := range p.Devices {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendDevice(b, &p.Devices[i])
		}
		b = append(b, `],`...)
	}
	b = server.AppendText(b, `"emoji":`, p.Claim.Emoji)
	if isWhole {
		b = server.AppendTime(b, `,"expires_at":`, p.ExpiresAt)
	}
	if p.heartbeatAfter != 0 {
		b = strconv.AppendInt(append(b, `,"heartbeat_after_seconds":`...), p.heartbeatAfter, 10)
	}
	b = server.AppendText(b, `,"id":`, string(p.ID))
	b = server.AppendTime(b, `,"last_active_at":`, p.ActiveAt)
	if isWhole {
		b = server.AppendTime(b, `,"last_seen_at":`, p.SeenAt)
		if p.Access == presence.Own {
			b = server.AppendText(b, `,"manual_status":`, string(claimedStatus(p.Claim.Status)))
		}
		b = server.AppendTime(b, `,"manual_until":`, p.Until)
		b = strconv.AppendInt(append(b, `,"seq":`...), p.Seq, 10)
		b = server.AppendText(b, `,"source":`, string(presenceSource(p.Manual)))
	}
	b = server.AppendText(b, `,"status":`, string(p.Status))
	b = server.AppendText(b, `,"text":`, p.Claim.Text)
	b = server.AppendText(b, `,"user_id":`, string(p.User))
	return append(b, '}')
}

func appendDevice(b []byte, d *presence.Device) []byte {
	b = server.AppendText(b, `{"id":`, d.ID)
	b = server.AppendText(b, `,"kind":`, string(d.Kind))
	b = openapi.Time(d.SeenAt).AppendJSON(append(b, `,"last_seen_at":`...))
	b = server.AppendText(b, `,"state":`, string(deviceActivity(d.Idle)))
	return append(b, '}')
}
