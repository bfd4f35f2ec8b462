package presences

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

func TestAStreamOpensAsEventSourceExpects(t *testing.T) {
	withStreams(t, func(t *testing.T, h *streamEnv) {
		ann, token := h.caller(1)
		l := h.open(token, "")
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store",
			"X-Accel-Buffering": "no"} {
			if got := l.header.Get(name); got != want || l.status != 200 {
				t.Errorf("%d, %s: %q, want %q", l.status, name, got, want)
			}
		}
		l.expect(string(ann), "retry:", "snapshot")
		time.Sleep(59 * time.Second)
		l.expect("", ":", ":", ":")
		if l.cut(); l.after() > 0 {
			t.Error("it outlasts its reader")
		}
	})
}

func TestAStreamResumesWhereItsReaderWas(t *testing.T) {
	withStreams(t, func(t *testing.T, h *streamEnv) {
		_, ann := h.caller(1)
		user, bob := h.caller(2)
		text := "?user_id=" + string(user)
		h.post(bob, `{"text": "before"}`)
		l := h.open(ann, text)
		id := l.expect("before", "retry:", "snapshot")
		h.post(bob, `{"text": "seen"}`)
		id, previous := l.expect("seen", "change"), id
		l.cut()
		h.post(bob, `{"text": "missed"}`)
		h.post(bob, `{"text": "missed as well"}`)
		for _, second := range []*client{
			h.open(ann, text, "Last-Event-ID: "+id), h.open(ann, text+"&last_event_id="+id),
			h.open(ann, text, "Last-Event-ID: "+previous),
			h.open(ann, text+"&last_event_id="+previous, "Last-Event-ID: "+id),
		} {
			second.expect(`"missed as well"`, "retry:", "change")
		}
		key, number, _ := strings.Cut(id, ".")
		for name, tt := range map[string]struct {
			by        account.Token
			query, id string
		}{
			"a number that was never given":    {ann, text, key + ".4711"}, // such as before the data were restored
			"a number that is none":            {ann, text, key + ".x"},
			"a number below zero":              {ann, text, key + ".-1"},
			"a number of 20 digits":            {ann, text, key + ".99999999999999999999"},
			"something else":                   {ann, text, number},
			"another question":                 {ann, "", id},
			"another user":                     {bob, text, id},
			"nothing that was ever given away": {ann, text, strings.Repeat("x", 5000) + "." + number},
		} {
			t.Log("an id of " + name)
			other := h.open(tt.by, tt.query, "Last-Event-ID: "+tt.id)
			other.expect("", "retry:", "reset", "snapshot")
			other.cut()
		}
	})
}

func TestAReaderWhoTakesNothingIsCutAfterTenSeconds(t *testing.T) {
	withStreams(t, func(t *testing.T, h *streamEnv) {
		_, token := h.caller(1)
		l := h.open(token, "")
		l.expect("", "retry:", "snapshot")
		l.stall()
		h.post(token, `{"text": "no one reads this"}`)
		if took := l.after(); took < 10*time.Second || took > 10*time.Second+time.Second {
			t.Errorf("it ended after %s", took)
		}
	})
}

func TestAStreamEndsWithTheCredential(t *testing.T) {
	for name, apply := range map[string]func(*account.Principal){
		"that is revoked": func(p *account.Principal) { p.Key.RevokedAt = server.Now() },
		"that expires": func(p *account.Principal) {
			p.Key.ExpiresAt = server.Now().Add(time.Millisecond)
		},
		"whose bearer has left":              func(p *account.Principal) { p.Membership.Role = identity.NoRole },
		"whose bearer is an operator by now": func(p *account.Principal) { p.User.Operator = true },
		"that now belongs to another user":   func(p *account.Principal) { p.User.ID = "usr_other" },
	} {
		t.Run(name, func(t *testing.T) {
			withStreams(t, func(t *testing.T, h *streamEnv) {
				_, token := h.caller(1)
				_, other := h.caller(2)
				l, stays := h.open(token, ""), h.open(other, "")
				time.Sleep(10300 * time.Millisecond)
				h.change(token, apply)
				if took := l.after(); took > time.Second {
					t.Errorf("it ended after %s", took)
				}
				if took := stays.after(); took < time.Minute {
					t.Errorf("another's ended after %s", took)
				}
			})
		})
	}
	t.Run("but not with the store", func(t *testing.T) {
		withStreams(t, func(t *testing.T, h *streamEnv) {
			_, token := h.caller(1)
			l := h.open(token, "")
			h.mu.Lock()
			h.fails = errors.New("the store is away")
			h.mu.Unlock()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if n := strings.Count(h.log.String(), "the store is away"); n < 19 || n > 21 ||
				strings.Contains(h.log.String(), token.Reveal()) {
				t.Errorf("noted %d times: %s", n, h.log)
			}
			h.mu.Lock()
			h.fails = nil
			h.mu.Unlock()
			if took := l.after(); took < time.Minute {
				t.Errorf("it ended after %s", took)
			}
			h.change(token, func(p *account.Principal) { p.Key.RevokedAt = server.Now() })
			if took := l.after(); took > time.Second {
				t.Errorf("it ended after %s", took)
			}
		})
	})
}

// TestStreamsAreNoWorkForTheDatabase counts calls of the stores, of each of which a test of the stores counts the
// statements. Two hundred idle streams must cost no more than one.
func TestStreamsAreNoWorkForTheDatabase(t *testing.T) {
	withStreams(t, func(t *testing.T, h *streamEnv) {
		if n, _ := h.during(); n > 0 {
			t.Errorf("callers are checked %d times without an open stream", n)
		}
		var open []*client
		var tokens []account.Token
		add := func() {
			_, token := h.caller(len(open))
			open, tokens = append(open, h.open(token, "")), append(tokens, token)
		}
		add()
		h.during() // until the user is stored as online
		one, calledForOne := h.during()
		for len(open) < 200 {
			add()
		}
		h.during()
		count, calledForMany := h.during()
		if one < 69 || one > 71 || count < 69 || count > 71 {
			t.Errorf("callers are checked %d times in 35 s for one stream, %d times for 200", one, count)
		}
		if calledForMany > calledForOne {
			t.Errorf("the store of presences is called %d times for one stream, %d times for 200", calledForOne,
				calledForMany)
		}
		h.change(tokens[123], func(p *account.Principal) { p.Key.RevokedAt = server.Now() })
		if took := open[123].after(); took > time.Second {
			t.Errorf("the one whose key was revoked ends after %s", took)
		}
		for i, l := range open {
			l.cut()
			if took := l.after(); took > 0 {
				t.Errorf("stream %d ends after %s", i, took)
			}
		}
		time.Sleep(2 * time.Second)
		if n, _ := h.during(); n > 0 {
			t.Errorf("callers are checked %d times after all streams have ended", n)
		}
	})
}

func TestAServerThatStopsEndsEveryStream(t *testing.T) {
	withStreams(t, func(t *testing.T, h *streamEnv) {
		_, token := h.caller(1)
		open := []*client{h.open(token, ""), h.open(token, "")}
		h.Drain()
		late := h.open(token, "")
		for _, l := range append(open, late) {
			if took := l.after(); took > 0 {
				t.Errorf("it ended after %s", took)
			}
		}
		if late.status != 200 {
			t.Errorf("a reader who comes late gets %d, after which EventSource gives up", late.status)
		}
	})
}

func TestATicketOpensAStreamOnce(t *testing.T) {
	withStreams(t, func(t *testing.T, h *streamEnv) {
		ann, token := h.caller(1)
		issuedProof := session.Proof{Key: token.Hash()}
		ticket, keptTicket := session.NewTicket("org_1", issuedProof, server.Now())
		h.tickets[keptTicket.Hash] = keptTicket
		l := h.open(account.Token{}, "?ticket="+ticket.Reveal())
		l.expect(string(ann), "retry:", "snapshot")
		for _, query := range []string{"?ticket=" + ticket.Reveal(), "?ticket=atp_x", ""} {
			if second := h.open(account.Token{}, query); second.status != 401 {
				t.Errorf("%s: %d", query, second.status)
			}
		}
		h.change(token, func(p *account.Principal) { p.Key.RevokedAt = server.Now() })
		if took := l.after(); took > time.Second {
			t.Errorf("it ended %s after its credential", took)
		}
	})
}

func TestTwoHundredPeopleAreFollowedAtMost(t *testing.T) {
	withStreams(t, func(t *testing.T, h *streamEnv) {
		_, token := h.caller(0)
		nameOf := func(n int) string {
			users := make([]string, n)
			for i := range users {
				users[i] = fmt.Sprintf("usr_%026d", i)
			}
			return "?user_id=" + strings.Join(users, ",")
		}
		_, last := h.caller(199)
		l := h.open(token, nameOf(200))
		l.expect("", "retry:", "snapshot")
		h.post(last, `{"text": "the last of them"}`)
		l.expect("the last of them", "change")
		if l := h.open(token, nameOf(201)); l.status != 400 || !strings.Contains(l.text.String(), "invalid_parameter") {
			t.Errorf("%d %s", l.status, l.text.String())
		}
	})
}
