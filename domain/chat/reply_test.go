package chat_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// wrongs returns the pointers and codes of an error.
func wrongs(err error) []string {
	var out []string
	if f, ok := errors.AsType[*fault.Error](err); ok {
		for _, w := range f.Fields {
			out = append(out, w.Pointer+" "+w.Code)
		}
	}
	return out
}

func TestAReplyNamesWhatItNeeds(t *testing.T) {
	by := identity.Actor{Org: "org", User: "ann", Workspace: "acme", Role: identity.Member, Ceiling: identity.Owner}
	for name, tt := range map[string]struct {
		reply    chat.Reply
		unusable bool
		want     []string
	}{
		"none at all":  {chat.Reply{}, true, nil},
		"none by name": {chat.Reply{Kind: chat.NoReply}, true, nil},
		"none with a connection": {chat.Reply{Kind: chat.NoReply, Connection: "con_1"}, false,
			[]string{"/reply not_allowed_value"}},
		"http":                      {chat.Reply{Kind: chat.HTTPReply, Connection: "con_1"}, false, nil},
		"http without a connection": {chat.Reply{Kind: chat.HTTPReply}, false, []string{"/reply/connection_id required"}},
		"http with a model": {chat.Reply{Kind: chat.HTTPReply, Connection: "con_1", Model: "m"}, false,
			[]string{"/reply/model not_allowed_value"}},
		"compatible": {chat.Reply{Kind: chat.CompatibleReply, Connection: "con_1", Model: "m"}, false, nil},
		"compatible without a model": {chat.Reply{Kind: chat.CompatibleReply, Connection: "con_1"}, false,
			[]string{"/reply/model required"}},
		"none with a visitor's variables": {chat.Reply{FromVisitor: []string{"plan"}}, false,
			[]string{"/reply not_allowed_value"}},
		"a visitor's variables": {chat.Reply{Kind: chat.HTTPReply, Connection: "con_1",
			FromVisitor: []string{"plan", "seats"}}, false, nil},
		"a visitor's variable twice": {chat.Reply{Kind: chat.HTTPReply, Connection: "con_1",
			FromVisitor: []string{"plan", "plan"}}, false, []string{"/reply/visitor_variables/1 duplicate_item"}},
		"too many of a visitor's variables": {chat.Reply{Kind: chat.HTTPReply, Connection: "con_1",
			FromVisitor: repeated(21, strconv.Itoa)}, false, []string{"/reply/visitor_variables too_many_items"}},
		"another kind": {chat.Reply{Kind: "smtp", Connection: "con_1"}, false, []string{"/reply/kind not_allowed_value"}},
		"long variables": {chat.Reply{Kind: chat.HTTPReply, Connection: "con_1",
			Variables: json.RawMessage(`{"a":"` + strings.Repeat("x", 16<<10) + `"}`)}, false,
			[]string{"/reply/variables too_long"}},
		"a connection that the caller cannot use": {chat.Reply{Kind: chat.HTTPReply, Connection: "con_1"}, true,
			[]string{"/reply/connection_id reply_connection_unavailable"}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := chat.Facts{Registry: registry(t), ReplyUsable: !tt.unusable}
			_, err := chat.New(by, chat.Draft{Content: chat.Content{Name: "n", Reply: tt.reply}}, facts)
			if got := wrongs(err); !slices.Equal(got, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("a stored connection is not checked again", func(t *testing.T) {
		usable := chat.Facts{Registry: registry(t), ReplyUsable: true}
		reply := chat.Reply{Kind: chat.HTTPReply, Connection: "con_1"}
		template, err := chat.New(by, chat.Draft{Content: chat.Content{Name: "n", Reply: reply}}, usable)
		require.NoError(t, err)
		facts := chat.Facts{Registry: registry(t)}
		assert.NoError(t, template.Change(by, nil, chat.Changes{Name: new("m"), Reply: &reply}, facts))
		withVariables := reply
		withVariables.FromVisitor = []string{"plan"}
		assert.ErrorIs(t, template.Change(by, nil, chat.Changes{Reply: &withVariables}, facts), chat.ErrReplyConnection)
		other := chat.Reply{Kind: chat.HTTPReply, Connection: "con_2"}
		assert.ErrorIs(t, template.Change(by, nil, chat.Changes{Reply: &other}, facts), chat.ErrReplyConnection)
	})
}
