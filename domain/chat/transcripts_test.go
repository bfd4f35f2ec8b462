package chat_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTranscriptsAreTheDecisionOfAManagerWhoMayManageWebhooks(t *testing.T) {
	const hook, other = webhook.ID("whk_1"), webhook.ID("whk_2")
	adminAsManager := with(manager, func(a *identity.Actor) { a.Role = identity.Admin })
	for name, tt := range map[string]struct {
		by             identity.Actor
		previous, next webhook.ID
		exists         bool
		want           error // nil: it is done
	}{
		"an admin begins them":             {admin, "", hook, true, nil},
		"a manager who is an admin does":   {adminAsManager, "", hook, true, nil},
		"a manager cannot begin them":      {manager, "", hook, true, identity.ErrForbidden},
		"nor send them elsewhere":          {manager, other, hook, true, identity.ErrForbidden},
		"but keeps them":                   {manager, hook, hook, false, nil},
		"and ends them":                    {manager, hook, "", false, nil},
		"an editor ends nothing":           {editor, hook, "", false, chat.ErrForbidden},
		"nor does a viewer begin anything": {viewer, "", hook, true, chat.ErrForbidden},
		"a stranger learns nothing":        {stranger, "", hook, true, chat.ErrNotFound},
		"a webhook that does not exist":    {admin, "", hook, false, chat.ErrTranscriptWebhook},
	} {
		t.Run(name, func(t *testing.T) {
			c := sharedTemplate()
			c.Transcripts = tt.previous
			f := facts(t)
			f.WebhookExists = tt.exists
			err := c.Change(tt.by, nil, chat.Changes{Transcripts: &tt.next}, f)
			if tt.want != nil {
				require.ErrorIs(t, err, tt.want)
				assert.Equal(t, "the webhook", c.Transcripts, tt.previous)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "the webhook", c.Transcripts, tt.next)
			if tt.previous == tt.next {
				recorded(t, c, tt.by)
				return
			}
			recorded(t, c, tt.by, "chat_template.updated")
			want := event.Change{From: tt.previous, To: tt.next}
			assert.Equal(t, "the event has", c.Recorded()[0].Data["transcripts"], any(want))
		})
	}
}

func TestNoPublicationBeginsTranscripts(t *testing.T) {
	c, f := sharedTemplate(), facts(t)
	f.WebhookExists = true
	require.NoError(t, c.Change(admin, nil, chat.Changes{Transcripts: new(webhook.ID("whk_1"))}, f))
	require.NoError(t, c.Publish(admin, nil, chat.Release{}))
	first := c.Published
	require.NoError(t, c.Change(manager, nil, chat.Changes{Transcripts: new(webhook.ID(""))}, f))
	require.NoError(t, c.Change(editor, nil, chat.Changes{Greeting: new("Hello")}, f))
	require.NoError(t, c.Publish(manager, nil, chat.Release{}))
	require.NoError(t, c.Publish(manager, nil, chat.Release{Version: first}))
	assert.Equal(t, "the webhook", c.Transcripts, "")
	duplicate, err := c.Copy(admin, chat.Copying{Name: "Copy"}, f)
	require.NoError(t, err)
	assert.Equal(t, "the copy's webhook", duplicate.Transcripts, "")
}

func TestTranscriptsEndWithTheirWebhook(t *testing.T) {
	c := sharedTemplate()
	c.EndTranscripts(admin)
	recorded(t, c, admin)
	c.Transcripts = "whk_1"
	c.EndTranscripts(admin)
	recorded(t, c, admin, "chat_template.updated")
	if c.Transcripts != "" || c.Revision != 8 {
		t.Errorf("template %+v", c)
	}
}
