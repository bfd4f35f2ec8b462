package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCredentials(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann := s.user(t, "member")
		refuses := func(t *testing.T, header string) *answer {
			t.Helper()
			a := s.anonymous().do(t, "GET", "/api/me", nil, header, "Request-Id: same").problem(t, 401,
				"unauthenticated")
			if got := a.header.Get("Www-Authenticate"); !strings.HasPrefix(got, "Bearer") {
				t.Errorf("WWW-Authenticate is %q", got)
			}
			return a
		}

		t.Run("a revoked key gets the same response as one that never existed", func(t *testing.T) {
			revokedClient, id := ann.key(t)
			revokedClient.do(t, "DELETE", "/api/api-keys/"+id, nil).is(t, 204)
			unknown := refuses(t, "Authorization: Bearer "+account.NewToken().Reveal())
			assert.Contains(t, "the detail", unknown.at("detail"), "unknown, was revoked or has expired")
			same(t, "a revoked key", refuses(t, "Authorization: Bearer "+revokedClient.token), unknown)
		})
		t.Run("a malformed credential gets the same response, whatever it was made from", func(t *testing.T) {
			cut := refuses(t, "Authorization: Bearer atk_x")
			assert.Contains(t, "the detail", cut.at("detail"), "incomplete or mistyped")
			for name, header := range map[string]string{
				"a wrong checksum": "Authorization: Bearer " + ann.token[:len(ann.token)-1] + "_",
				"two keys":         "Authorization: Bearer " + ann.token + " " + ann.token,
			} {
				same(t, name, refuses(t, header), cut)
			}
			other := refuses(t, "Authorization: Bearer x").at("detail")
			assert.Contains(t, "the detail of another token", other, "neither an API key")
		})
		t.Run("a header without a token behind Bearer says so, whatever else it has", func(t *testing.T) {
			empty := refuses(t, "Authorization: Bearer")
			assert.Contains(t, "the detail", empty.at("detail"), "the word Bearer, a space")
			for name, header := range map[string]string{
				"another scheme": "Authorization: Basic " + ann.token,
				"no scheme":      "Authorization: " + ann.token,
			} {
				same(t, name, refuses(t, header), empty)
			}
		})
		t.Run("the authorization scheme ignores case", func(t *testing.T) {
			s.anonymous().get(t, "/api/me", "Authorization: bearer "+ann.token)
		})
		t.Run("a key expires at its time", func(t *testing.T) {
			brief, id := ann.key(t, "--expires", "1h")
			brief.get(t, "/api/me")
			s.sql(t, fmt.Sprintf(`UPDATE api_keys SET expires_at = %d WHERE id = '%s'`,
				time.Now().Add(time.Second).UnixMicro(), id))
			brief.refusedWithin(t, 3*time.Second) // what was read of it is cached for a second
			brief.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		})
		t.Run("a key is shown once, and cannot create one with a higher role or a longer lifetime", func(t *testing.T) {
			looking, lookingID := ann.key(t, "--role", "viewer")
			looking.do(t, "POST", "/api/api-keys", object{"name": "on", "role_ceiling": "viewer"}).problem(t, 403,
				"forbidden")
			brief, _ := ann.key(t, "--expires", "1h", "--role", "member")
			brief.do(t, "POST", "/api/api-keys", object{"name": "up", "role_ceiling": "admin"}).problem(t, 403,
				"role_ceiling")
			brief.do(t, "POST", "/api/api-keys", object{"name": "on", "expires_at": time.Now().Add(2 * time.Hour)}).
				problem(t, 403, "role_ceiling")
			ann.do(t, "POST", "/api/api-keys", object{"name": "past", "expires_at": "2001-01-01T00:00:00Z"}).problem(t,
				422, "invalid_fields")
			response := brief.create(t, "/api/api-keys", object{"name": "same"}).has(t,
				map[string]string{"role_ceiling": "member", "status": "active", "user_id": ann.id})
			assert.Equal(t, "the token may be cached", response.header.Get("Cache-Control"), "no-store")
			child := *ann
			child.token = response.at("token")
			child.get(t, "/api/me").has(t, map[string]string{"role": "member"})
			if list := ann.get(t, "/api/api-keys"); strings.Contains(list.text, child.token) ||
				!slices.Contains(list.each(t, "id"), response.at("id")) {
				t.Errorf("the list is %s", list)
			}
			looking.do(t, "DELETE", "/api/api-keys/"+response.at("id"), nil).problem(t, 403, "forbidden")
			for itself, c := range map[string]*client{response.at("id"): &child, lookingID: looking} {
				c.do(t, "DELETE", "/api/api-keys/"+itself, nil).is(t, 204)
				c.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			}
		})
		t.Run("a repeated POST shows the key again, until it is revoked", func(t *testing.T) {
			body, key := object{"name": "once"}, "Idempotency-Key: make-key"
			response := ann.create(t, "/api/api-keys", body, key)
			if second := ann.create(t, "/api/api-keys", body, key); second.at("token") != response.at("token") {
				t.Error("the replay shows another token")
			}
			ann.do(t, "DELETE", "/api/api-keys/"+response.at("id"), nil).is(t, 204)
			ann.do(t, "POST", "/api/api-keys", body, key).problem(t, 409, "idempotency_answer_erased")
		})
		t.Run("the last use of a key is recorded", func(t *testing.T) {
			usedClient, id := ann.key(t)
			ann.get(t, "/api/api-keys/"+id).has(t, map[string]string{"last_used_at": "null"})
			usedClient.get(t, "/api/me")
			awaits(t, "it is noted", ann.server,
				func() bool { return ann.get(t, "/api/api-keys/"+id).at("last_used_at") != "null" })
		})
		t.Run("the requests with a key are counted by day", func(t *testing.T) {
			usedClient, id := ann.key(t)
			for range 3 {
				usedClient.get(t, "/api/me")
			}
			awaits(t, "they are counted", ann.server, func() bool {
				read, sum := ann.get(t, "/api/api-keys/"+id), 0 // over midnight, some are yesterday's
				for day := range 30 {
					n, err := strconv.Atoi(read.at(fmt.Sprintf("requests_by_day.%d", day)))
					require.NoError(t, err)
					sum += n
				}
				return sum == 3
			})
			ids := ann.get(t, "/api/api-keys").each(t, "id")
			ann.get(t, "/api/api-keys").has(t, map[string]string{
				fmt.Sprintf("data.%d.requests_by_day.0", slices.Index(ids, id)): "0"})
		})
	})
}

// TestForwardedAddresses checks that forwarded addresses are accepted only from trusted proxies.
func TestForwardedAddresses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		trusted, forwarded, want string
	}{
		"from a trusted proxy": {"[127.0.0.0/8, 10.0.0.0/8]", "198.51.100.1, 203.0.113.9, 10.1.2.3",
			"203.0.113.9"},
		"from a proxy nobody trusts":       {"[10.0.0.0/8]", "203.0.113.9", "127.0.0.1"},
		"from a proxy that makes no sense": {"[127.0.0.1]", "203.0.113.9, junk", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sqlite, configured("server: {trusted_proxies: "+tt.trusted+"}"))
			admin := s.user(t, "admin")
			admin.create(t, templates, object{"name": "x"}, "X-Forwarded-For: "+tt.forwarded)
			if got := admin.get(t, "/api/events?type=prompt_template.created").at("data.0.address"); got != tt.want {
				t.Errorf("the audit trail says %q, want %q", got, tt.want)
			}
		})
	}
}
