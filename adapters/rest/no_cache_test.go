package rest

import (
	"context"
	"net/http"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// onReads calls read for each read of a version, which it finds.
func onReads(h *env, read func()) {
	a := gomock.Any()
	h.prompts.EXPECT().GetVersion(a, a, a, a).AnyTimes().DoAndReturn(
		func(
			_ context.Context, _ identity.Actor, id prompt.ID, _ prompt.Ref,
		) (*prompt.Reading, *prompt.Version, error) {
			read()
			t := &prompt.Reading{ID: id, Type: prompt.Text, Subject: access.Subject{Workspace: "wsp_1", Owner: "usr_1"}}
			v := &prompt.Version{}
			v.ID, v.Template, v.Number, v.Revision = "pver_1", t.ID, 1, 1
			return t, v, nil
		})
}

func TestAResponseToNoCacheIsKeptOnlyInThePlaceOfAnother(t *testing.T) {
	const path = promptsPath + "/ptpl_01jb4rqnx1e5btz2s1v2j9k3mn/versions/active"
	h, reads := newEnv(t), 0
	h.unchecked = true
	onReads(h, func() { reads++ })
	for i, step := range []struct {
		headers []string
		reads   int
	}{
		{[]string{"Cache-Control: no-cache"}, 1},
		{nil, 2}, // nothing was kept
		{nil, 2},
		{[]string{"Cache-Control: no-cache"}, 3}, // replaces what was kept
		{nil, 3},
	} {
		if w := h.call("GET", path, "", step.headers...); w.Code != http.StatusOK || reads != step.reads {
			t.Errorf("request %d: %d reads, want %d: %d", i, reads, step.reads, w.Code)
		}
	}
}
