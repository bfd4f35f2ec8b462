package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// rolledOut rolls out a label, and ends that for the other version. It runs as a part of TestTheConsole.
func rolledOut(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	template := owner.create(t, templates, object{"name": "console/canary",
		"version": object{"text": "Hello", "labels": []string{"production"}, "activate": true}}).at("id")
	path := templates + "/" + template
	owner.create(t, path+"/versions", object{"text": "Hello there"})
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	reads(ctx, t, "Preview of v2")
	picks(ctx, t, "Labels…")
	types(ctx, t, `[name=label]`, "production")
	types(ctx, t, `[name=percent]`, "20")
	presses(ctx, t, "Give the label")
	reads(ctx, t, "production is rolled out to 2 versions")
	reads(ctx, t, "v2: 20 % of the readers")
	judge(t, owner, template)
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	reads(ctx, t, "Preview of v2")
	picks(ctx, t, "Labels…")
	reads(ctx, t, "solved: 75.0 % of 120 reports · -15.0 points (95 %: -24.4 to -5.4)")
	reads(ctx, t, "solved: 90.0 % of 120 reports")
	keep(ctx, t, "console-rollout")
	owner.get(t, path+"/rollouts").has(t, map[string]string{"data.0.versions.0.version_number": "1",
		"data.0.versions.1.weight": "20"})
	presses(ctx, t, "Give everyone v2")
	drive(ctx, t, poll[bool](`!document.body.innerText.includes('is rolled out')`))
	owner.get(t, path+"/versions/production").has(t, map[string]string{"number": "2"})
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	opensTab(ctx, t, "History")
	chooses(ctx, t, `select:has(option[value=production])`, "production")
	reads(ctx, t, "Rolled out: v1 80 %, v2 20 %")
	reads(ctx, t, "solved: 75.0 % of 120 reports")

	// Both versions side by side, with a check that passes by its threshold.
	picks(ctx, t, "Settings…")
	types(ctx, t, `[name=thresholds]`, "eval >= 0.9, cost <= 2.5")
	presses(ctx, t, "Save")
	drive(ctx, t, poll[bool](`!document.querySelector('[role=dialog]')`))
	owner.get(t, path).has(t, map[string]string{
		"check_thresholds": `[{"at_most":2.5,"name":"cost"},{"at_least":0.9,"name":"eval"}]`})
	for version, result := range map[string]float64{"v1": 0.85, "v2": 0.95} {
		owner.do(t, "POST", path+"/versions/"+version+"/checks/eval",
			object{"conclusion": "success", "result": result}).is(t, 200)
	}
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	opensTab(ctx, t, "Compare")
	reads(ctx, t, "What was reported about both")
	for _, text := range []string{"Check eval", "0.85", "0.95", "needs ≥ 0.9", "90.0 % of 120 reports",
		"75.0 % of 120 reports", "-15.0 points (95 %: -24.4 to -5.4)"} {
		reads(ctx, t, text)
	}
	keep(ctx, t, "console-compare-outcomes")
}

// judge reports what the readers of two versions say: 90 % and 75 % of 120 are content.
func judge(t *testing.T, by *client, template string) {
	t.Helper()
	for version, content := range map[string]int{"v1": 108, "v2": 90} {
		var reports []object
		for n := range 120 {
			reports = append(reports, object{"prompt_template_id": template, "version_id": version, "name": "solved",
				"value": n < content})
		}
		by.do(t, "POST", templates+"/feedback/batch", object{"reports": reports}).is(t, 200).has(t,
			map[string]string{"results.119.error": "null"})
	}
}
