package e2e

import (
	"testing"
)

// TestWhoIsInvisibleLeavesNoTrace compares what others see of a user before and after the user did something while
// invisible.
func TestWhoIsInvisibleLeavesNoTrace(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob, operator := s.user(t, "member"), s.user(t, "member"), s.user(t, "viewer", "--operator")
		ann.create(t, presences, object{"text": "before"})
		bob.create(t, presences, object{})
		theirs := presences + "/" + ann.get(t, presences+"/me").at("id")
		watching := bob.stream(t, "?user_id="+ann.id)
		watching.next()
		ann.do(t, "POST", presences, object{"status": "invisible"}).is(t, 200)
		told := watching.is("change", map[string]string{"data.0.user_id": ann.id, "data.0.status": "offline"})
		watching.close()
		seen := map[*client]string{bob: bob.get(t, theirs).text, operator: operator.get(t, theirs).text}
		since := operator.get(t, presences).at("seq")

		ann.do(t, "POST", presences, object{"device_id": "phone", "device_kind": "mobile", "text": "secret"}).is(t, 200)
		for who, before := range seen {
			if now := who.get(t, theirs).text; now != before {
				t.Errorf("others see\n%s, before\n%s", now, before)
			}
		}
		if listed := operator.get(t, presences+"?since_seq="+since+"&user_id="+ann.id).items(t); len(listed) > 0 {
			t.Errorf("the operator's list has %v", listed)
		}
		resumed := bob.stream(t, "?user_id="+ann.id, "Last-Event-ID: "+told.id)
		bob.do(t, "POST", presences, object{"text": "mine"}).is(t, 200)
		for {
			e := resumed.is("change", map[string]string{"data.0.user_id": bob.id, "data.1": ""})
			if e.at("data.0.text") == "mine" {
				break
			}
		}
		ann.do(t, "POST", presences, object{"status": "auto"}).is(t, 200)
		resumed.is("change", map[string]string{"data.0.user_id": ann.id, "data.0.status": "online",
			"data.0.text": "secret"})
	})
}

// TestATicketResumesItsOwnStream reconnects as EventSource does: to the same URL, with the id of the last event.
func TestATicketResumesItsOwnStream(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		ticket := func() string {
			t.Helper()
			return ann.do(t, "POST", presences+"/stream-tickets", nil).is(t, 200).at("ticket")
		}
		anonymous, first := s.anonymous(), ticket()
		query := "?user_id=" + bob.id + "&ticket=" + first
		opened := anonymous.stream(t, query)
		last := opened.is("snapshot", map[string]string{"data.0.user_id": ann.id})
		opened.close()
		bob.create(t, presences, object{"text": "meanwhile"})
		for range 2 {
			again := anonymous.stream(t, query, "Last-Event-ID: "+last.id)
			again.is("change", map[string]string{"data.0.user_id": bob.id, "data.0.text": "meanwhile"})
			again.close()
		}
		path := presences + "/stream"
		refused := func(query, id string) {
			t.Helper()
			anonymous.do(t, "GET", path+query, nil, "Last-Event-ID: "+id).problem(t, 401, "unauthenticated")
		}
		another := anonymous.stream(t, "?ticket="+ticket()).next()
		byKey := ann.stream(t, "?user_id="+bob.id).next()
		refused(query, byKey.id)           // it was received without the ticket
		refused(query, another.id)         // with another ticket
		refused("?ticket="+first, last.id) // with another query
		refused(query, "x"+last.id+"x")    // changed
		anonymous.do(t, "GET", path+query, nil).problem(t, 401, "unauthenticated")

		key, id := ann.key(t)
		ends := key.do(t, "POST", path+"-tickets", nil).is(t, 200).at("ticket")
		of := anonymous.stream(t, "?ticket="+ends).next()
		ann.do(t, "DELETE", "/api/api-keys/"+id, nil).is(t, 204)
		refused("?ticket="+ends, of.id) // its key has ended
	})
}
