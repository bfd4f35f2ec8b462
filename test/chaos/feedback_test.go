package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestFeedbackIsExactOverKills reports feedback in batches while the process is killed again and again. Batches that
// were not acknowledged are sent again with the same keys. In the end each report counts once.
func TestFeedbackIsExactOverKills(t *testing.T) {
	batches := proof.Sample(12, 1000) // on each engine
	const size = 100
	onEach(t, func(t *testing.T, engine string) {
		d := on(t, engine)
		n := d.Start(t, suite.Binary(t))
		token := d.Owner(t, suite.Binary(t), "ann@example.com")
		template := struct{ ID string }{}
		require.NoError(t, send(n, token, "POST", prompts, object{"name": "judged",
			"version": object{"text": "Hello", "activate": true}}, &template))
		sum, squares := 0, 0
		report := func(reports []object) error {
			return send(n, token, "POST", prompts+"/feedback/batch", object{"reports": reports}, nil)
		}
		for batch := range batches {
			var reports []object
			for i := range size {
				value := rand.IntN(10)
				sum, squares = sum+value, squares+value*value
				reports = append(reports, object{"prompt_template_id": template.ID, "version_id": "v1",
					"name": "rating", "value": value, "idempotency_key": fmt.Sprint(batch, " ", i)})
			}
			if batch%4 == 3 { // the node ends somewhere within the call
				sent := make(chan error, 1)
				go func() { sent <- report(reports) }()
				n.Kill(t)
				<-sent
				n = d.Start(t, suite.Binary(t))
			}
			require.NoError(t, report(reports))
		}
		var got struct {
			Versions []struct {
				Count           int
				Mean, Deviation float64
			}
		}
		require.NoError(t, send(n, token, "GET", prompts+"/"+template.ID+"/feedback", nil, &got))
		count := batches * size
		mean := float64(sum) / float64(count)
		variance := float64(count*squares-sum*sum) / float64(count) / float64(count-1)
		if v := got.Versions[0]; v.Count != count || v.Mean != mean || v.Deviation*v.Deviation-variance > 1e-9 ||
			variance-v.Deviation*v.Deviation > 1e-9 {
			t.Errorf("feedback %+v, want %d reports with a mean of %v and a variance of %v", v, count, mean, variance)
		}
	})
}

// send sends one request, and reads its response, which must be a success, into out unless it is nil.
func send(n *program.Node, token, method, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(method, n.URL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if body == nil {
		r.Body = http.NoBody
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, answer)
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(answer, out)
}
