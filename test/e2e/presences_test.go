package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

const presences = "/api/presence"

func TestPresences(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		operator, stranger := s.user(t, "viewer", "--operator"), s.user(t, "owner", "--workspace", "elsewhere")

		t.Run("a user has no presence before the first heartbeat", func(t *testing.T) {
			ann.do(t, "GET", presences+"/me", nil).problem(t, 404, "presence_not_found")
			ann.do(t, "DELETE", presences+"/me", nil).problem(t, 404, "presence_not_found")
			if got := ann.get(t, presences).items(t); len(got) != 0 {
				t.Errorf("listed: %v", got)
			}
		})
		response := ann.create(t, presences, object{})
		path := response.header.Get("Location")
		t.Run("the first heartbeat creates a presence, and the next ones return 200", func(t *testing.T) {
			response.has(t, map[string]string{"status": "online", "source": "auto", "manual_status": "auto",
				"user_id": ann.id, "heartbeat_after_seconds": "30", "devices.0.id": "default", "devices.0.kind": "api",
				"devices.0.state": "active", "devices.1": ""})
			assert.Equal(t, "Location", path, presences+"/"+response.at("id"))
			second := ann.do(t, "POST", presences, object{"user_id": ann.id}).is(t, 200)
			if second.at("id") != response.at("id") || second.at("seq") != response.at("seq") ||
				second.at("expires_at") <= response.at("expires_at") {
				t.Errorf("%s\nbefore: %s", second, response)
			}
		})
		t.Run("a claimed status is shown to everyone who may see it", func(t *testing.T) {
			ann.do(t, "POST", presences, object{"device_id": "phone", "device_kind": "mobile", "activity": "idle",
				"status": "dnd", "text": "writing", "emoji": ":pen:", "ttl_seconds": 300}).is(t, 200).
				has(t, map[string]string{"status": "dnd", "source": "manual", "heartbeat_after_seconds": "100",
					"devices.1.id": "phone", "devices.1.state": "idle"})
			bob.get(t, path).has(t, map[string]string{"status": "dnd", "text": "writing", "emoji": ":pen:",
				"devices": "", "seq": "", "expires_at": "", "last_seen_at": "", "manual_status": "", "source": ""})
			operator.get(t, path).has(t, map[string]string{"status": "dnd", "devices.1.id": "phone",
				"manual_status": "", "source": "manual"})
			stranger.do(t, "GET", path, nil).problem(t, 404, "presence_not_found")
		})
		t.Run("a claimed status that expires is replaced by the one before", func(t *testing.T) {
			end := time.Now().Add(1500 * time.Millisecond).UTC().Format(time.RFC3339Nano)
			ann.do(t, "POST", presences, object{"status": "away", "text": "lunch", "manual_until": end}).is(t,
				200).has(t, map[string]string{"status": "away", "text": "lunch"})
			soon(t, func() string {
				return ann.get(t, presences+"/me").at("text")
			}, "writing")
			bob.get(t, path).has(t, map[string]string{"status": "dnd", "text": "writing"})
		})
		t.Run("operators list, count and filter all presences, and continue from a seq", func(t *testing.T) {
			bob.create(t, presences, object{})
			soon(t, func() string { return operator.get(t, presences).at("counts.dnd") }, "1") // since lunch is over
			all := operator.get(t, presences)
			all.has(t, map[string]string{"counts.dnd": "1", "counts.online": "1", "counts.offline": "0",
				"data.0.user_id": bob.id, "data.1.user_id": ann.id, "next_cursor": "null"})
			first := operator.get(t, presences+"?limit=1")
			second := operator.get(t, presences+"?limit=1&cursor="+first.at("next_cursor"))
			if first.at("data.0.user_id") != bob.id || second.at("data.0.user_id") != ann.id ||
				second.at("next_cursor") != "null" {
				t.Errorf("%s\n%s", first, second)
			}
			for query, want := range map[string][]string{
				"?status=dnd": {ann.id}, "?status=online": {bob.id}, "?status=away": {}, "?user_id=" + ann.id: {ann.id},
				"?user_id=nobody":                    {},
				"?since_seq=" + all.at("data.1.seq"): {bob.id}, "?since_seq=" + all.at("seq"): {},
			} {
				assert.EqualSlice(t, query+": get", operator.get(t, presences+query).each(t, "user_id"), want)
			}
			bob.get(t, presences).has(t, map[string]string{"data.0.user_id": bob.id, "data.1": "",
				"counts": "", "seq": ""})
			bob.get(t, presences+"?user_id="+ann.id).has(t, map[string]string{"data": "[]"})
			operator.do(t, "GET", presences+"?limit=1&status=dnd&cursor="+first.at("next_cursor"), nil).problem(t, 400,
				"invalid_cursor")
		})
		t.Run("an invisible user is offline for everyone else", func(t *testing.T) {
			bob.do(t, "POST", presences, object{"status": "invisible"}).is(t, 200).has(t,
				map[string]string{"status": "online", "manual_status": "invisible"})
			theirs := presences + "/" + bob.get(t, presences+"/me").at("id")
			ann.get(t, theirs).has(t, map[string]string{"status": "offline"})
			operator.get(t, theirs).has(t, map[string]string{"status": "offline", "devices": "[]", "manual_status": ""})
			operator.get(t, presences+"?status=offline").has(t, map[string]string{"data.0.user_id": bob.id})
			operator.get(t, presences+"?status=online").has(t, map[string]string{"data": "[]"})
			bob.get(t, presences+"?status=online").has(t, map[string]string{"data.0.user_id": bob.id})
		})
		t.Run("a deleted presence is shown nowhere until the next heartbeat", func(t *testing.T) {
			bob.do(t, "DELETE", path, nil).problem(t, 404, "presence_not_found")
			ann.do(t, "DELETE", presences+"/me", nil).is(t, 204)
			for _, c := range []*client{ann, bob, operator} {
				c.do(t, "GET", path, nil).problem(t, 404, "presence_not_found")
			}
			ann.create(t, presences, object{}).has(t, map[string]string{"id": response.at("id"), "status": "online",
				"text": "", "devices.1": ""})
			operator.do(t, "DELETE", path, nil).is(t, 204)
			admin := s.user(t, "admin")
			admin.get(t, "/api/events?type=presence.deleted").has(t,
				map[string]string{"data.0.subject": response.at("id"), "data.0.actor": operator.id, "data.1": ""})
			ann.create(t, presences, object{})
		})
	})
}

func TestPresencesOutliveTheServer(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		d := deployMigrated(t, engine)
		s := d.start(t)
		ann, bob, operator := s.user(t, "member"), s.user(t, "member"), s.user(t, "viewer", "--operator")
		ann.create(t, presences, object{"status": "dnd", "text": "claimed"})
		goneClient := s.user(t, "member")
		goneClient.create(t, presences, object{})
		s.kill(t)
		s.sql(t, `UPDATE presences SET due_at = 1, devices = '[{"id":"default","kind":"api","seen_at":1,"ttl":30}]'
			WHERE user_id = '`+goneClient.id+`'`)
		s = d.start(t)
		t.Run("claimed statuses survive a kill of the server", func(t *testing.T) {
			bob.at(s).create(t, presences, object{})
			ann.at(s).get(t, presences+"/me").has(t, map[string]string{"status": "dnd", "text": "claimed"})
		})
		t.Run("a user who sent no heartbeat meanwhile is offline, in counts and filters too", func(t *testing.T) {
			soon(t, func() string { return operator.at(s).get(t, presences+"?status=offline").at("data.0.user_id") },
				goneClient.id)
			operator.at(s).get(t, presences).has(t, map[string]string{"counts.offline": "1", "counts.online": "1",
				"counts.dnd": "1"})
			goneClient.at(s).do(t, "POST", presences, object{}).is(t, 200)
		})
		t.Run("the times that users were last seen survive a clean stop", func(t *testing.T) {
			seen := ann.at(s).do(t, "POST", presences, object{}).is(t, 200).at("last_seen_at")
			s.stop(t)
			s = d.start(t)
			ann.at(s).get(t, presences+"/me").has(t, map[string]string{"last_seen_at": seen})
		})
	})
}

func TestBadHeartbeats(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		ann.create(t, presences, object{})
		ann.do(t, "POST", presences, object{"user_id": bob.id}).problem(t, 403, "presence_not_own")
		ann.do(t, "POST", presences, object{"user_id": "nobody"}).problem(t, 403, "presence_not_own")
		for name, tt := range map[string]struct {
			body  object
			wrong string
		}{
			"an unknown status":         {object{"status": "asleep"}, "/status not_allowed_value"},
			"a short ttl":               {object{"ttl_seconds": 29}, "/ttl_seconds out_of_range"},
			"a long ttl":                {object{"ttl_seconds": 301}, "/ttl_seconds out_of_range"},
			"141 characters":            {object{"text": strings.Repeat("ß", 141)}, "/text too_long"},
			"a control character":       {object{"text": "a\tb"}, "/text invalid_pattern"},
			"a line feed at the end":    {object{"text": "a\n"}, "/text invalid_pattern"},
			"a NUL":                     {object{"text": "\x00"}, "/text invalid_pattern"},
			"a delete character":        {object{"text": "a\x7f"}, "/text invalid_pattern"},
			"a control character of C1": {object{"text": "a\u0085b"}, "/text invalid_pattern"},
			"a text that is none":       {object{"text": 7}, "/text wrong_type"},
			"an emoji with a space":     {object{"emoji": "a b"}, "/emoji invalid_pattern"},
			"an emoji of 65 characters": {object{"emoji": strings.Repeat("x", 65)}, "/emoji too_long"},
			"an odd device":             {object{"device_id": "a b"}, "/device_id invalid_pattern"},
			"a device with a slash":     {object{"device_id": "../a"}, "/device_id invalid_pattern"},
			"a device of other letters": {object{"device_id": "прибор"}, "/device_id invalid_pattern"},
			"a device with a line feed": {object{"device_id": "a\n"}, "/device_id invalid_pattern"},
			"a device of 65 characters": {object{"device_id": strings.Repeat("a", 65)}, "/device_id too_long"},
			"an activity that is none":  {object{"activity": "asleep"}, "/activity not_allowed_value"},
			"a ttl that is no number":   {object{"ttl_seconds": "90"}, "/ttl_seconds wrong_type"},
			"a ttl with a fraction":     {object{"ttl_seconds": 90.5}, "/ttl_seconds wrong_type"},
			"a device without a name":   {object{"device_id": ""}, "/device_id too_short"},
			"an unknown kind of device": {object{"device_kind": "fridge"}, "/device_kind not_allowed_value"},
			"an end in the past":        {object{"manual_until": "2020-01-01T00:00:00Z"}, "/manual_until in_the_past"},
			"an end that has just been": {
				object{"manual_until": time.Now().Add(-time.Millisecond).UTC().Format(time.RFC3339Nano)},
				"/manual_until in_the_past"},
			"an end in another zone": {
				object{
					"manual_until": time.Now().Add(-time.Minute).In(time.FixedZone("", 5*3600)).Format(time.RFC3339)},
				"/manual_until in_the_past"},
			"an end that is too late": {object{"manual_until": time.Now().AddDate(0, 0, 31).UTC().Format(time.RFC3339)},
				"/manual_until too_late"},
			"an end that is no time": {object{"manual_until": "soon"}, "/manual_until invalid_format"},
			"an unknown field":       {object{"stat": "dnd"}, "/stat unknown_field"},
		} {
			t.Run(name, func(t *testing.T) {
				if a := ann.do(t, "POST", presences, tt.body).problem(t, 422,
					"invalid_fields"); !slices.Contains(a.wrong(), tt.wrong) {
					t.Errorf("%v, want %s", a.wrong(), tt.wrong)
				}
			})
		}
		t.Run("a status text of 140 characters is accepted", func(t *testing.T) {
			ann.do(t, "POST", presences, object{"text": strings.Repeat("ß", 140)}).is(t, 200)
		})
		t.Run("refused heartbeats change nothing", func(t *testing.T) {
			ann.get(t, presences+"/me").has(t, map[string]string{"status": "online", "manual_status": "auto",
				"manual_until": "null", "emoji": "", "devices.0.id": "default", "devices.1": ""})
		})
		t.Run("a heartbeat of a 21st device is refused", func(t *testing.T) {
			for i := range 19 {
				ann.do(t, "POST", presences, object{"device_id": fmt.Sprint("d", i)}).is(t, 200)
			}
			ann.do(t, "POST", presences, object{"device_id": "one-more"}).problem(t, 409, "device_limit_reached")
			ann.do(t, "POST", presences, object{"device_id": "one-more", "status": "dnd"}).problem(t, 409,
				"device_limit_reached")
			ann.get(t, presences+"/me").has(t, map[string]string{"devices.19.id": "default", "devices.20": "",
				"manual_status": "auto"})
			ann.do(t, "POST", presences, object{"device_id": "d7"}).is(t, 200)
		})
		t.Run("a read-only key can neither send heartbeats nor delete a presence", func(t *testing.T) {
			carl := s.user(t, "member")
			carl.create(t, presences, object{})
			reads, _ := carl.key(t, "--role", "viewer")
			reads.do(t, "POST", presences, object{}).problem(t, 403, "forbidden")
			reads.do(t, "DELETE", presences+"/me", nil).problem(t, 403, "forbidden")
			carl.get(t, presences+"/me").has(t, map[string]string{"status": "online"})
		})
		for query, code := range map[string]string{
			"?status=asleep": "invalid_parameter", "?since_seq=-1": "invalid_parameter",
			"?since_seq=1e3": "invalid_parameter", "?since_seq=9223372036854775808": "invalid_parameter",
			"?user_id=": "invalid_parameter", "?limit=0": "invalid_limit", "?cursor=x": "invalid_cursor",
			"?stat=dnd": "unknown_parameter",
		} {
			ann.do(t, "GET", presences+query, nil).problem(t, 400, code)
		}
		t.Run("heartbeats are rate limited", func(t *testing.T) {
			for range 200 {
				if a := bob.do(t, "POST", presences, object{}); a.status == 429 {
					assert.Equal(t, "Retry-After", a.header.Get("Retry-After"), "1")
					ann.do(t, "GET", presences, nil).is(t, 200)
					return
				}
			}
			t.Error("nobody told")
		})
	})
}

// soon waits until get returns want.
func soon(t *testing.T, ask func() string, want string) {
	t.Helper()
	proof.Await(t, strconv.Quote(want), ask, func(got string) bool { return got == want })
}
