package atrium

import (
	"context"
	"time"
)

// KeepPresence sends heartbeats of a device until ctx is done, as often as the server asks for. It calls report, unless
// it is nil, with the result of each. A heartbeat that failed is followed by the next one all the same.
func (s *PresenceService) KeepPresence(ctx context.Context, heartbeat Heartbeat, report func(*Presence, error)) {
	delay := 30 * time.Second
	for ctx.Err() == nil {
		presence, err := s.Heartbeat(ctx, heartbeat)
		if ctx.Err() != nil {
			return
		}
		if err == nil && presence.HeartbeatAfterSeconds != nil {
			delay = time.Duration(*presence.HeartbeatAfterSeconds) * time.Second
		}
		if report != nil {
			report(presence, err)
		}
		if s.client.wait(ctx, delay) != nil {
			return
		}
	}
}
