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
		report := watching.is("change", map[string]string{"data.0.user_id": ann.id, "data.0.status": "offline"})
		watching.close()
		seen := map[*client]string{bob: bob.get(t, theirs).text, operator: operator.get(t, theirs).text}
		startSeq := operator.get(t, presences).at("seq")

		ann.do(t, "POST", presences, object{"device_id": "phone", "device_kind": "mobile", "text": "secret"}).is(t, 200)
		for person, previous := range seen {
			if currentText := person.get(t, theirs).text; currentText != previous {
				t.Errorf("others see\n%s, before\n%s", currentText, previous)
			}
		}
		if list := operator.get(t, presences+"?since_seq="+startSeq+"&user_id="+ann.id).items(t); len(list) > 0 {
			t.Errorf("the operator's list has %v", list)
		}
		operator.get(t, presences+"?user_id="+ann.id).has(t, map[string]string{"seq": startSeq})
		resumedEvents := bob.stream(t, "?user_id="+ann.id, "Last-Event-ID: "+report.id)
		bob.do(t, "POST", presences, object{"text": "mine"}).is(t, 200)
		for {
			e := resumedEvents.is("change", map[string]string{"data.0.user_id": bob.id, "data.1": ""})
			if e.at("data.0.text") == "mine" {
				break
			}
		}
		ann.do(t, "POST", presences, object{"status": "auto"}).is(t, 200)
		resumedEvents.is("change", map[string]string{"data.0.user_id": ann.id, "data.0.status": "online",
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
		openedEvents := anonymous.stream(t, query)
		last := openedEvents.is("snapshot", map[string]string{"data.0.user_id": ann.id})
		openedEvents.close()
		bob.create(t, presences, object{"text": "meanwhile"})
		for range 2 {
			second := anonymous.stream(t, query, "Last-Event-ID: "+last.id)
			second.is("change", map[string]string{"data.0.user_id": bob.id, "data.0.text": "meanwhile"})
			second.close()
		}
		path := presences + "/stream"
		refuses := func(query, id string) {
			t.Helper()
			anonymous.do(t, "GET", path+query, nil, "Last-Event-ID: "+id).problem(t, 401, "unauthenticated")
		}
		another := anonymous.stream(t, "?ticket="+ticket()).next()
		byKey := ann.stream(t, "?user_id="+bob.id).next()
		refuses(query, byKey.id)           // it was received without the ticket
		refuses(query, another.id)         // with another ticket
		refuses("?ticket="+first, last.id) // with another query
		refuses(query, "x"+last.id+"x")    // changed
		anonymous.do(t, "GET", path+query, nil).problem(t, 401, "unauthenticated")

		key, id := ann.key(t)
		ends := key.do(t, "POST", path+"-tickets", nil).is(t, 200).at("ticket")
		owner := anonymous.stream(t, "?ticket="+ends).next()
		ann.do(t, "DELETE", "/api/api-keys/"+id, nil).is(t, 204)
		refuses("?ticket="+ends, owner.id) // its key has ended
	})
}
