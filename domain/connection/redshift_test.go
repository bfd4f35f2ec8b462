package connection_test

import (
	"maps"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	clusterHost   = "examplecluster.abc123xyz789.us-west-2.redshift.amazonaws.com"
	workgroupHost = "group.123456789012.us-west-2.redshift-serverless.amazonaws.com"
)

func TestAPasswordOfRedshiftIsForTheDatabaseThatHostOrFieldsName(t *testing.T) {
	for name, tt := range map[string]struct {
		changes map[string]any
		want    connection.RedshiftDatabase
		api     string
	}{
		"a cluster's endpoint": {map[string]any{"host": clusterHost},
			connection.RedshiftDatabase{Cluster: "examplecluster", Region: "us-west-2"},
			"redshift.us-west-2.amazonaws.com"},
		"in upper case with a dot": {map[string]any{"host": "ExampleCluster.ABC.us-west-2.redshift.amazonaws.com."},
			connection.RedshiftDatabase{Cluster: "examplecluster", Region: "us-west-2"},
			"redshift.us-west-2.amazonaws.com"},
		"a cluster in China": {map[string]any{"host": "c.abc.cn-north-1.redshift.amazonaws.com.cn"},
			connection.RedshiftDatabase{Cluster: "c", Region: "cn-north-1"}, "redshift.cn-north-1.amazonaws.com.cn"},
		"a workgroup's endpoint": {map[string]any{"host": workgroupHost, "username": nil},
			connection.RedshiftDatabase{Workgroup: "group", Region: "us-west-2"},
			"redshift-serverless.us-west-2.amazonaws.com"},
		"a VPC endpoint of a cluster": {map[string]any{"cluster_identifier": "examplecluster",
			"host": "mine-endpoint-abc.xyz.us-west-2.redshift.amazonaws.com"},
			connection.RedshiftDatabase{Cluster: "examplecluster", Region: "us-west-2"},
			"redshift.us-west-2.amazonaws.com"},
		"a name of one's own": {map[string]any{"host": "warehouse.example.com", "username": nil,
			"workgroup_name": "group", "aws_region": "eu-central-1"},
			connection.RedshiftDatabase{Workgroup: "group", Region: "eu-central-1"},
			"redshift-serverless.eu-central-1.amazonaws.com"},
	} {
		t.Run(name, func(t *testing.T) {
			changes := map[string]any{"aws_region": nil}
			maps.Copy(changes, tt.changes)
			c, err := keyed(connection.Redshift, changes)
			require.NoError(t, err)
			assert.Equal(t, "RedshiftDatabase", c.RedshiftDatabase(), tt.want)
			if _, host := c.RedshiftDatabase().API(); host != tt.api {
				t.Errorf("the host of the API is %s, want %s", host, tt.api)
			}
			if !c.UsesTemporaryPasswords() || c.UsesAWSTokens() || c.TokenPort() != 443 {
				t.Error("it does not sign in with temporary passwords, or also with tokens")
			}
		})
	}
}

func TestFieldsOfAnAWSKeyForRedshift(t *testing.T) {
	noKey := map[string]any{"aws_access_key_id": nil, "aws_secret_access_key": nil, "aws_region": nil}
	for name, tt := range map[string]struct {
		changes map[string]any
		wrong   []string
	}{
		"a cluster":                    {map[string]any{"host": clusterHost, "aws_region": nil}, nil},
		"a cluster without a user":     {map[string]any{"host": clusterHost, "username": nil}, []string{"username"}},
		"a workgroup":                  {map[string]any{"host": workgroupHost, "username": nil}, nil},
		"a workgroup with a user":      {map[string]any{"host": workgroupHost}, []string{"username"}},
		"a host that names no cluster": {nil, []string{"cluster_identifier"}},
		"a host that names no region": {map[string]any{"cluster_identifier": "c", "aws_region": nil},
			[]string{"aws_region"}},
		"a cluster and a workgroup": {map[string]any{"cluster_identifier": "c", "workgroup_name": "group"},
			[]string{"workgroup_name"}},
		"without a secret": {map[string]any{"host": clusterHost, "aws_secret_access_key": nil},
			[]string{"aws_secret_access_key"}},
		"and a password":               {map[string]any{"host": clusterHost, "password": "p"}, []string{"password"}},
		"with TLS that proves nothing": {map[string]any{"host": clusterHost, "tls": "require"}, []string{"tls"}},
		"without key, with a password": {changed(noKey, "password", "p"), nil},
		"without key and user":         {changed(noKey, "username", nil), []string{"username"}},
		"without key, with a cluster":  {changed(noKey, "cluster_identifier", "c"), []string{"cluster_identifier"}},
		"a workgroup and a password":   {changed(noKey, "host", workgroupHost), nil},
		"only a region": {changed(noKey, "aws_region", "eu-central-1"),
			[]string{"aws_access_key_id", "aws_secret_access_key"}},
		"a region that would be a path": {map[string]any{"host": clusterHost, "aws_region": "a/b"},
			[]string{"aws_region"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keyed(connection.Redshift, tt.changes)
			wantWrong(t, err, tt.wrong)
		})
	}
}

func changed(changes map[string]any, field string, value any) map[string]any {
	all := maps.Clone(changes)
	all[field] = value
	return all
}

func TestALoginReplacesUserAndPasswordOnlyInACopy(t *testing.T) {
	c, err := keyed(connection.Redshift, map[string]any{"host": clusterHost})
	require.NoError(t, err)
	other := c.WithLogin("IAM:reader", secret.New("p"))
	if other.Text("username") != "IAM:reader" || other.Secret("password").Reveal() != "p" {
		t.Error("the copy has another login")
	}
	if c.Text("username") != "reader" || !c.Secret("password").IsZero() {
		t.Error("the credential itself has changed")
	}
}
