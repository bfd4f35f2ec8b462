package sessions

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/session"
)

func toSession(r *server.Call, s *session.Session) openapi.Session {
	return openapi.Session{
		ID:         string(s.ID),
		Current:    s.ID == r.By.Session,
		Source:     openapi.SessionSource(s.Source),
		APIKeyID:   openapi.OrNull(string(s.Key)),
		UserAgent:  s.Agent,
		Address:    openapi.OrNull(s.Address),
		CreatedAt:  openapi.Time(s.CreatedAt),
		LastSeenAt: openapi.Time(s.LastSeenAt),
		ExpiresAt:  openapi.Time(s.EndsAt(r.SessionPolicy())),
	}
}
