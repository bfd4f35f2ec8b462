package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func contract(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// change replaces the first old that stands behind a mark.
func change(t *testing.T, text, mark, old, replacement string) string {
	t.Helper()
	at := strings.Index(text, mark)
	if at < 0 || !strings.Contains(text[at:], old) {
		t.Fatalf("openapi.yaml has no %q behind %q", old, mark)
	}
	return text[:at] + strings.Replace(text[at:], old, replacement, 1)
}

// without leaves out the path that begins with a line, and all below it.
func without(t *testing.T, text, line string) string {
	t.Helper()
	at := strings.Index(text, "\n"+line)
	if at < 0 {
		t.Fatalf("openapi.yaml has no %q", line)
	}
	end := strings.Index(text[at+1+len(line):], "\n  /")
	return text[:at] + text[at+1+len(line)+end:]
}

func TestWhatBreaksClientsIsRefused(t *testing.T) {
	now := contract(t)
	for _, tt := range []struct {
		name, rule, operation string
		after                 string
	}{
		{"a path that is gone", "api-path-removed-without-deprecation", "GET /api/events",
			without(t, now, "  /api/events:")},
		{"an operation that is gone", "api-removed-without-deprecation", "GET /api/me",
			change(t, now, "  /api/me:", "    get:", "    trace:")},
		{"a member of an answer that is gone", "response-required-property-removed",
			"GET /api/workspaces/{workspace_id}",
			change(t, change(t, now, "    Workspace:\n", "name, ", ""), "    Workspace:\n", "        name:",
				"        title:")},
		{"a member of a request that is required now", "request-property-became-required", "POST /api/api-keys",
			change(t, now, "    APIKeyCreate:\n", "required: [name]", "required: [name, role_ceiling]")},
		{"a new member of a request that is required", "new-required-request-property", "POST /api/workspaces",
			change(t, change(t, now, "    WorkspaceCreate:\n", "required: [name]", "required: [name, colour]"),
				"    WorkspaceCreate:\n", "      properties:\n",
				"      properties:\n        colour: {type: string, maxLength: 9}\n")},
		{"a parameter that is gone", "request-parameter-removed", "GET /api/events",
			change(t, now, "operationId: listEvents", "name: subject", "name: about")},
		{"a narrower limit", "request-property-max-length-decreased", "POST /api/workspaces",
			change(t, now, "    WorkspaceCreate:\n", "maxLength: 120", "maxLength: 12")},
		{"a type of event that is gone", "api-path-removed-without-deprecation", "POST /webhooks/member.added",
			change(t, now, "webhooks:\n", "  member.added:\n", "  member.joined:\n")},
		{"a member of an event that is gone", "response-required-property-removed", "POST /webhooks/member.added",
			change(t, change(t, now, "operationId: onMemberAdded", "required: [user_id, role]", "required: [user_id]"),
				"operationId: onMemberAdded", "role: {", "rank: {")},
		{"a member of an event that can be absent now", "response-property-became-optional",
			"POST /webhooks/member.added",
			change(t, now, "operationId: onMemberAdded", "required: [user_id, role]", "required: [user_id]")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			broken, err := breaks([]byte(now), []byte(tt.after))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(broken,
				func(f found) bool { return f.Rule == tt.rule && f.Operation == tt.operation }) {
				t.Errorf("found %q", broken)
			}
			if len(refused(broken, nil)) != len(broken) {
				t.Error("not all of it is refused")
			}
		})
	}
}

func TestWhatBreaksNobodyIsTaken(t *testing.T) {
	now := contract(t)
	after := change(t, now, "    WorkspaceCreate:\n", "      properties:\n",
		"      properties:\n        colour: {type: string, maxLength: 9}\n")
	after = change(t, after, "    Workspace:\n", "      properties:\n",
		"      properties:\n        colour: {type: string}\n")
	after = change(t, after, "operationId: onMemberAdded", "role: {", "colour: {type: string}, role: {")
	broken, err := breaks([]byte(now), []byte(after))
	if err != nil || len(broken) > 0 {
		t.Errorf("found %q, %v", broken, err)
	}
}

func TestABreakIsAllowedOnceItIsDecidedOn(t *testing.T) {
	broken := []found{{Rule: "api-path-removed-without-deprecation", Operation: "GET /api/events"}}
	decided := []intended{{Rule: broken[0].Rule, Operation: broken[0].Operation, Reason: "no client called it"}}
	if got := refused(broken, decided); len(got) > 0 {
		t.Errorf("refused: %q", got)
	}
	if got := refused(nil, decided); len(got) != 1 {
		t.Errorf("a decision that is done with is still there: %q", got)
	}
	decided[0].Reason = ""
	if got := refused(broken, decided); len(got) != 2 {
		t.Errorf("a decision needs no reason: %q", got)
	}
}

func TestTheLinterComplains(t *testing.T) {
	text := change(t, contract(t), "  /api/me:", "operationId: getMe", "operationId: get me")
	got, err := lint(t.Context(), []byte(text))
	if err != nil || len(got) != 1 || !strings.Contains(got[0], "semantic-operation-id-valid-in-url") {
		t.Errorf("it says %q, %v", got, err)
	}
}
