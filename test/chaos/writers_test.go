package chaos

import (
	"fmt"
	"strings"
)

// writer performs a sequence of requests and reports whether all succeeded. first is set for its first turn since the
// load began.
type writer func(l *load, first bool) bool

// writers are the writers of a load. The ledger records what they wrote under the kinds of kept.
var writers = []writer{
	writePrompts, changePrompt, writeChats, claimPresence, writeConnections, writeKeys, writeInvitations, repeatPosts,
}

const (
	prompts     = "/api/prompt-templates"
	chats       = "/api/chat-templates"
	connections = "/api/connections"
	keys        = "/api/api-keys"
	presence    = "/api/presence"
)

// writePrompts creates a template and versions of it, and activates each.
func writePrompts(l *load, _ bool) bool {
	response, ok := l.do("POST", prompts, object{"name": l.name()})
	if !ok {
		return false
	}
	template := response.id(l.t)
	l.ledger.note("template", template)
	for range 2 {
		text := l.name()
		newResponse, ok := l.do("POST", prompts+"/"+template+"/versions", object{"text": text})
		if !ok {
			return false
		}
		version := newResponse.id(l.t)
		l.ledger.note("version", version+" "+text)
		if _, ok := l.do("POST", prompts+"/"+template+"/versions/"+version+"/activate", object{}); !ok {
			return false
		}
		l.ledger.note("activation", template+" "+version)
		if !l.reads(prompts+"/"+template+"/versions/"+version, "text", text) {
			return false
		}
	}
	return true
}

// changePrompt changes one template repeatedly.
func changePrompt(l *load, _ bool) bool {
	response, ok := l.do("POST", prompts, object{"name": l.name(), "description": "0"})
	if !ok {
		return false
	}
	one := response.id(l.t)
	l.ledger.note("template", one)
	for n := 1; n <= 10; n++ {
		l.ledger.sends("description", one, n)
		change, ok := l.do("PATCH", prompts+"/"+one, object{"description": fmt.Sprint(n)})
		if !ok {
			return false
		}
		l.ledger.reaches("description", one, n)
		var current struct{ Revision int }
		change.decode(l.t, &current)
		l.ledger.reaches("revision", one, current.Revision)
	}
	return true
}

// writeChats creates a chat template with an embed token, publishes it, and deletes the token.
func writeChats(l *load, _ bool) bool {
	name := l.name()
	response, ok := l.do("POST", chats, object{"name": name})
	if !ok {
		return false
	}
	chat := response.id(l.t)
	l.ledger.note("chat", chat+" draft")
	tokens := chats + "/" + chat + "/embed-tokens"
	for range 2 {
		if response, ok = l.do("POST", tokens,
			object{"name": "site", "allowed_origins": []string{"https://a.example.com",
				"https://b.example.com"}}); !ok {
			return false
		}
		l.ledger.note("embed token", response.id(l.t))
	}
	token := response.id(l.t)
	l.ledger.maybe("embed token", token)
	if _, ok = l.do("DELETE", tokens+"/"+token, nil); !ok {
		return false
	}
	l.ledger.note("embed token gone", token)
	l.ledger.maybe("chat", chat+" draft")
	if _, ok = l.do("PATCH", chats+"/"+chat, object{"status": "published"}); !ok {
		return false
	}
	l.ledger.note("chat", chat+" published")
	return l.reads(chats+"/"+chat, "name", name)
}

// claimPresence sets another status text each time, as often as the rate limit allows.
func claimPresence(l *load, _ bool) bool {
	n := int(l.number.Add(1))
	l.ledger.sends("presence", "", n)
	claim, ok := l.do("POST", presence, object{"status": "dnd", "text": fmt.Sprint(n)})
	if !ok {
		return false
	}
	l.ledger.reaches("presence", "", n)
	l.ledger.note("presence", claim.id(l.t))
	return l.reads(presence+"/me", "text", fmt.Sprint(n))
}

// writeConnections makes a connection and revokes it.
func writeConnections(l *load, first bool) bool {
	if first && !l.clear(connections, "connection") {
		return false
	}
	response, ok := l.do("POST", connections, object{"kind": "postgres", "name": l.name(), "credential": l.shop})
	if !ok {
		return false
	}
	one := response.id(l.t)
	l.ledger.note("connection", one)
	return l.reads(connections+"/"+one, "status", "active") && l.ends(connections, "connection", one)
}

// writeKeys makes an API key and revokes it.
func writeKeys(l *load, first bool) bool {
	if first && !l.clear(keys, "key") {
		return false
	}
	response, ok := l.do("POST", keys, object{"name": l.name()})
	if !ok {
		return false
	}
	l.ledger.note("key", response.id(l.t))
	return l.ends(keys, "key", response.id(l.t))
}

// writeInvitations creates an invitation and withdraws it.
func writeInvitations(l *load, first bool) bool {
	var me struct{ Workspace struct{ ID string } }
	a, ok := l.do("GET", "/api/me", nil)
	if !ok {
		return false
	}
	a.decode(l.t, &me)
	invitations := "/api/workspaces/" + me.Workspace.ID + "/invitations"
	if first && !l.clear(invitations, "invitation") {
		return false
	}
	response, ok := l.do("POST", invitations, object{"email": strings.ReplaceAll(l.name(), " ", ".") + "@example.com",
		"role": "member"})
	if !ok {
		return false
	}
	l.ledger.note("invitation", response.id(l.t))
	return l.ends(invitations, "invitation", response.id(l.t))
}

// repeatPosts sends each request twice with one Idempotency-Key.
func repeatPosts(l *load, _ bool) bool {
	name := l.name()
	key := "Idempotency-Key: " + strings.ReplaceAll(name, " ", "-")
	response, ok := l.do("POST", prompts, object{"name": name}, key)
	if !ok {
		return false
	}
	l.ledger.note("template", response.id(l.t))
	second, ok := l.do("POST", prompts, object{"name": name}, key)
	if ok && (second.text != response.text || second.header.Get("Idempotency-Replayed") != "true") {
		l.t.Errorf("%s\n%s", response, second)
	}
	return ok
}

// ends deletes or revokes something that stays stored as ended.
func (l *load) ends(list, kind, id string) bool {
	if _, ok := l.do("DELETE", list+"/"+id, nil); !ok {
		return false
	}
	l.ledger.note(kind+" ended", id)
	return true
}

// clear ends what an interrupted load has left, because the number of such things is limited.
func (l *load) clear(list, kind string) bool {
	a, ok := l.do("GET", list, nil)
	if !ok {
		return false
	}
	var rest struct {
		Data []struct{ ID, Name, Status string }
	}
	a.decode(l.t, &rest)
	for _, one := range rest.Data {
		if one.Status == "revoked" || strings.HasPrefix(one.Name, "made by") || strings.HasPrefix(one.Name, "first") {
			continue
		}
		if !l.ends(list, kind, one.ID) {
			return false
		}
	}
	return true
}
