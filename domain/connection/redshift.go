package connection

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/secret"
)

// The fields of Redshift that name the database server for an AWS key, if its host does not.
const (
	FieldClusterIdentifier = "cluster_identifier"
	FieldWorkgroupName     = "workgroup_name"
)

// redshiftFields are the fields that a sign-in with an AWS key depends on, except for the user.
var redshiftFields = slices.Concat(awsFields, []string{FieldClusterIdentifier, FieldWorkgroupName})

// redshiftHint is the hint after a refused sign-in with a temporary password.
const redshiftHint = "Amazon gives no temporary password for the AWS key, or the server refuses it. Check the key, " +
	"the region and the name of the cluster or workgroup, that the IAM policy allows " +
	"redshift:GetClusterCredentials for this user and database (redshift-serverless:GetCredentials for a " +
	"workgroup), and that the database user exists. " +
	"The clock of Atrium's machine must be right: Amazon refuses requests that are minutes off."

const redshiftUnavailableHint = "Amazon's API that gives temporary passwords cannot be reached, limits requests, or " +
	"reports a failure, so there is nothing to sign in with. Check that Atrium's network allows connections to " +
	"redshift.<region>.amazonaws.com (redshift-serverless.<region>.amazonaws.com for a workgroup), and try again."

// RedshiftDatabase is what an AWS key gets a temporary password for. Cluster or Workgroup is set, or neither if they
// are not known.
type RedshiftDatabase struct{ Cluster, Workgroup, Region string }

// redshiftHost matches Amazon's names of clusters (examplecluster.abc123xyz789.us-west-2.redshift.amazonaws.com) and of
// workgroups (workgroup.123456789012.us-west-2.redshift-serverless.amazonaws.com).
var redshiftHost = regexp.MustCompile(
	`^([a-z0-9-]+)\.[a-z0-9]+\.([a-z0-9-]+)\.redshift(-serverless)?\.amazonaws\.com(?:\.cn)?$`)

// RedshiftDatabase returns what c gets temporary passwords for: the fields of c, and for what they do not say, the
// host. It is the zero RedshiftDatabase for other kinds.
func (c Credential) RedshiftDatabase() RedshiftDatabase {
	if c.kind != Redshift {
		return RedshiftDatabase{}
	}
	d := RedshiftDatabase{Cluster: c.Text(FieldClusterIdentifier), Workgroup: c.Text(FieldWorkgroupName),
		Region: c.Text(FieldAWSRegion)}
	found := redshiftHost.FindStringSubmatch(strings.ToLower(strings.TrimSuffix(c.Text(FieldHost), ".")))
	if found == nil {
		return d
	}
	d.Region = cmp.Or(d.Region, found[2])
	switch {
	case d.Cluster != "" || d.Workgroup != "":
	case found[3] == "":
		d.Cluster = found[1]
	default:
		d.Workgroup = found[1]
	}
	return d
}

// API returns the service that gives passwords for d, and its host.
func (d RedshiftDatabase) API() (service, host string) {
	service = "redshift"
	if d.Workgroup != "" {
		service = "redshift-serverless"
	}
	host = service + "." + d.Region + ".amazonaws.com"
	if strings.HasPrefix(d.Region, "cn-") {
		host += ".cn"
	}
	return service, host
}

// UsesTemporaryPasswords reports whether c signs in with passwords that Amazon Redshift gives for an AWS key.
func (c Credential) UsesTemporaryPasswords() bool {
	return c.kind == Redshift && c.Text(FieldAWSAccessKeyID) != ""
}

// WithLogin returns c with another user and password.
func (c Credential) WithLogin(username string, password secret.String) Credential {
	c.config = maps.Clone(c.config)
	c.config[FieldUsername] = username
	return c.WithPassword(password)
}

// checkRedshift finds fields of Redshift that are missing, or that exclude each other. The rest is in checkTokens.
func (c Credential) checkRedshift() (errs []fault.Field) {
	if c.kind != Redshift {
		return nil
	}
	note := func(field, code, detail string) {
		errs = append(errs, fault.Field{Pointer: "/credential/" + field, Code: code, Detail: detail})
	}
	names := []string{FieldClusterIdentifier, FieldWorkgroupName}
	d := c.RedshiftDatabase()
	switch withKey := c.UsesTemporaryPasswords(); {
	case !withKey:
		for _, field := range names {
			if c.Text(field) != "" {
				note(field, "not_allowed_value", "Is only for connections with an aws_access_key_id.")
			}
		}
	case d.Cluster != "" && d.Workgroup != "":
		note(FieldWorkgroupName, "not_allowed_value", "Give either a cluster or a workgroup.")
	case d.Cluster == "" && d.Workgroup == "":
		note(FieldClusterIdentifier, "required", "Give the cluster, or the workgroup_name of a serverless one: the "+
			"host is not the endpoint as Amazon names it.")
	case d.Workgroup != "" && c.Text(FieldUsername) != "":
		note(FieldUsername, "not_allowed_value", "A serverless workgroup has a user with the name of the IAM user. "+
			"Leave the field out, or give a password.")
	case d.Workgroup != "":
		return nil
	}
	if c.Text(FieldUsername) == "" {
		note(FieldUsername, "required", "Must be given.")
	}
	return errs
}
