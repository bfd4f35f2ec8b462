package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// googleAccount returns the request body for a connection with the fake's service account.
func googleAccount(g *fixture.Google) object {
	return object{"kind": "google_sheets", "credential": object{"client_email": g.Email, "private_key": g.PrivateKey}}
}

// staff creates a Google Sheet and returns the request body that attaches it as contacts, with a mapping.
func staff(g *fixture.Google) object {
	url := g.Put(fixture.Workbook{Name: "Staff",
		Tabs: []fixture.Tab{{Title: "People", Rows: [][]string{{"E-mail", "First name"}, {"ada@example.com", "Ada"}}}}})
	return object{"type": "contacts", "location": object{"url": url},
		"mapping": []object{{"field": "email", "column": "E-mail"}}}
}

// TestSheetsPauseWithTheAccountThatReadsThem revokes a connection to Google Sheets, which a local server replaces.
func TestSheetsPauseWithTheAccountThatReadsThem(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		g := fixture.NewGoogle(t)
		s := start(t, engine, toShops, func(d *deployment) { d.env = append(d.env, g.Instead(t)...) },
			configured(fmt.Sprintf("orgs: [{slug: default, google_api_key: %q}]", g.APIKey)))
		ann, peer := s.user(t, "member"), s.user(t, "member")
		previous := ann.create(t, sources, staff(g)).at("id") // with the key that all workspaces share
		refreshed(t, ann, previous)
		account := ann.create(t, connections, googleAccount(g)).at("id")
		ids := []string{previous, ann.create(t, sources, staff(g)).at("id"), ann.create(t, sources, staff(g)).at("id")}
		for _, id := range ids[1:] {
			refreshed(t, ann, id)
		}
		at := func(i int) string { return sources + "/" + ids[i] }
		nameOf := func() []string {
			t.Helper()
			c := ann.get(t, connections+"/"+account)
			var found []string
			for i := range len(ids) {
				if id := c.at(fmt.Sprintf("sources.%d.id", i)); id != "" {
					found = append(found, id)
				}
			}
			slices.Sort(found)
			return found
		}

		t.Run("the connection lists its sources from the first reading", func(t *testing.T) {
			assert.EqualSlice(t, "sources", nameOf(), ids[1:])
			peer.do(t, "POST", at(0)+"/refresh", nil).is(t, 202)
			refreshed(t, ann, previous)
			assert.EqualSlice(t, "sources", nameOf(), ids)
		})

		reading, cut := make(chan struct{}, 8), make(chan struct{}, 8)
		t.Run("revoking a connection pauses its sources, and stops reads in progress", func(t *testing.T) {
			// Another tab of another sheet, because a result cached for 30 s is not a reading.
			g.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
				reading <- struct{}{}
				<-r.Context().Done()
				cut <- struct{}{}
				return true
			})
			cold := make(chan *answer, 1)
			go func() {
				cold <- peer.do(t, "GET", sources+"/sheet-preview?url="+staff(g)["location"].(object)["url"].(string),
					nil)
			}()
			<-reading
			ann.do(t, "DELETE", connections+"/"+account, nil).is(t, 200).has(t, map[string]string{
				"paused_sources.0.id": ids[2], "paused_sources.2.id": ids[0], "paused_sources.2.status": "paused",
				"connection.status": "revoked",
			})
			answeredAt := time.Now()
			select {
			case <-cut:
			case <-time.After(patience):
				t.Error("Google is still asked")
			}
			(<-cold).problem(t, 409, "connection_revoked")
			proof.Within(t, "the end of the reading", time.Since(answeredAt), 2*time.Second)
			g.Answer(nil)
			g.Requests()
			for i := range ids {
				ann.get(t, at(i)).has(t, map[string]string{"status": "paused", "pause_reason": "connection_revoked",
					"next_refresh_at": "null"})
			}
		})
		t.Run("paused sources send no request to Google, not even with the shared key", func(t *testing.T) {
			peer.do(t, "POST", at(0)+"/refresh", nil).problem(t, 409, "source_paused")
			ann.do(t, "PUT", at(0), object{"mapping": []object{{"field": "email", "column": "E-mail"}}}).problem(t, 409,
				"source_paused")
			peer.do(t, "GET", sources+"/sheet-preview?source_id="+ids[0], nil).problem(t, 409, "connection_revoked")
			peer.do(t, "POST", sources+"/"+ids[1]+"/refresh", nil).problem(t, 409, "source_paused")
			if askedTexts := g.Requests(); len(askedTexts) > 0 {
				t.Errorf("Google was asked %q", askedTexts)
			}
		})
		t.Run("a new credential resumes the sources, each with one refresh", func(t *testing.T) {
			hasEnded := func(i int) int { return len(ann.get(t, at(i)+"/jobs").items(t)) }
			var jobs []int
			for i := range ids {
				jobs = append(jobs, hasEnded(i))
			}
			ann.do(t, "POST", connections+"/"+account+"/verify",
				object{"credential": googleAccount(g)["credential"]}).is(t, 200).has(t,
				map[string]string{"status": "active", "sources.0.status": "active"})
			for i, id := range ids {
				refreshed(t, ann, id).has(t, map[string]string{"status": "active", "pause_reason": "null",
					"failure": "null"})
				if current := hasEnded(i); current != jobs[i]+2 { // and the refresh that is due tomorrow
					t.Errorf("%d jobs, %d before", current, jobs[i])
				}
			}
		})
		s.stop(t)
	})
}
