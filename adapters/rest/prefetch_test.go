package rest

import (
	"context"
	"net/http"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// onReads calls read for each read of a version, which it finds.
func onReads(h *env, read func(ctx context.Context)) {
	a := gomock.Any()
	h.prompts.EXPECT().GetVersion(a, a, a, a).AnyTimes().DoAndReturn(
		func(
			ctx context.Context, _ identity.Actor, id prompt.ID, _ prompt.Ref,
		) (*prompt.Reading, *prompt.Version, error) {
			read(ctx)
			t := &prompt.Reading{ID: id, Type: prompt.Text, Subject: access.Subject{Workspace: "wsp_1", Owner: "usr_1"}}
			v := &prompt.Version{}
			v.ID, v.Template, v.Number, v.Revision = "pver_1", t.ID, 1, 1
			return t, v, nil
		})
}

func TestAVersionIsPrefetchedWithItsCaller(t *testing.T) {
	const template = "ptpl_01jb4rqnx1e5btz2s1v2j9k3mn"
	for _, tt := range []struct {
		name, path string
		want       *ports.VersionPrefetch
	}{
		{"the active version", "/" + template + "/versions/active",
			&ports.VersionPrefetch{Template: template, Ref: prompt.Ref{Active: true}}},
		{"a version by its number", "/" + template + "/versions/v7",
			&ports.VersionPrefetch{Template: template, Ref: prompt.Ref{Number: 7}}},
		{"a template whose id is malformed", "/ptpl_%00/versions/active", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newEnv(t)
			h.unchecked = true
			reads := 0
			onReads(h, func(ctx context.Context) {
				reads++
				got := ports.VersionPrefetchOf(ctx)
				if got == nil != (tt.want == nil) || got != nil && *got != *tt.want {
					t.Errorf("prefetch of %+v, want %+v", got, tt.want)
				}
			})
			h.call("GET", promptsPath+tt.path, "")
			if reads != 1 {
				t.Errorf("%d reads", reads)
			}
		})
	}
}

func TestAResponseToNoCacheIsKeptOnlyInThePlaceOfAnother(t *testing.T) {
	const path = promptsPath + "/ptpl_01jb4rqnx1e5btz2s1v2j9k3mn/versions/active"
	h, reads := newEnv(t), 0
	h.unchecked = true
	onReads(h, func(context.Context) { reads++ })
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
