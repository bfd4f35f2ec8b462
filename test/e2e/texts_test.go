package e2e

import (
	"slices"
	"testing"
)

// TestTextsOfOthersReadAsTheyAreWritten sends a character that reverses what follows wherever others read the text.
func TestTextsOfOthersReadAsTheyAreWritten(t *testing.T) {
	s := start(t, sqlite)
	owner, operator := s.user(t, "owner"), s.user(t, "owner", "--operator")
	const reversed = "invoice\u202efdp.exe"
	prompt := templates + "/" + owner.create(t, templates, object{"name": "texts", "type": "text"}).at("id")
	version := owner.create(t, prompt+"/versions", object{"text": "Hello"}).at("id")
	chat := "/api/chat-templates/" + owner.create(t, "/api/chat-templates", object{"name": "texts"}).at("id")
	for name, tt := range map[string]struct {
		by           *client
		method, path string
		body         object
		wrong        string
	}{
		"a presence":       {owner, "POST", presences, object{"text": reversed}, "/text invalid_characters"},
		"a greeting":       {owner, "PATCH", chat, object{"greeting": reversed}, "/greeting invalid_characters"},
		"a starter":        {owner, "PATCH", chat, object{"conversation_starters": []string{reversed}}, "/conversation_starters/0 invalid_characters"},
		"tags":             {owner, "PATCH", prompt, object{"tags": []string{reversed}}, "/tags invalid_characters"},
		"a description":    {owner, "PATCH", prompt, object{"description": reversed}, "/description invalid_characters"},
		"a commit message": {owner, "POST", prompt + "/versions", object{"text": "x", "commit_message": reversed}, "/commit_message invalid_characters"},
		"a reason":         {owner, "POST", prompt + "/versions/" + version + "/activate", object{"reason": reversed}, "/reason invalid_characters"},
		"why disabled":     {operator, "POST", "/api/people/" + owner.id + "/disable", object{"reason": reversed}, "/reason invalid_format"},
	} {
		t.Run(name, func(t *testing.T) {
			a := tt.by.do(t, tt.method, tt.path, tt.body).problem(t, 422, "invalid_fields")
			if !slices.Contains(a.wrong(), tt.wrong) {
				t.Errorf("%v, want %s", a.wrong(), tt.wrong)
			}
		})
	}
}
