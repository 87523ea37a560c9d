package main

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string // the error; none if empty
	}{
		"the defaults are valid": {},
		"several schedulers and prefixes": {
			args: []string{"--scheduler-names=a,b", "--gate-prefixes=example.org/,podsequence.example.com/"},
		},
		"no scheduler of ours": {
			args: []string{"--scheduler-names="},
		},
		"no controller": {
			args: []string{"--controllers="},
			want: `--controllers: must not be empty: name controllers to run, or leave the flag out to run all`,
		},
		"a controller that does not exist": {
			args: []string{"--controllers=podsequence,job"},
			want: `--controllers: "job" is not a controller: the controllers are podsequence, sequentialjob, podgroup, deploymentcoordination; * stands for all of them, and a - before a name leaves it out`,
		},
		"a controller that does not exist and is left out": {
			args: []string{"--controllers=-job"},
			want: `--controllers: "-job" is not a controller`,
		},
		"the same controller twice": {
			args: []string{"--controllers=podgroup,podgroup"},
			want: `--controllers: "podgroup" is given twice`,
		},
		"the same controller left out twice": {
			args: []string{"--controllers=-podgroup", "--controllers=-podgroup"},
			want: `--controllers: "-podgroup" is given twice`,
		},
		"a controller turned on and left out": {
			args: []string{"--controllers=*,podgroup,-podgroup"},
			want: `--controllers: "podgroup" is both turned on and left out: remove one of them`,
		},
		"every controller left out": {
			args: []string{"--controllers=-podsequence,-sequentialjob,-podgroup,-deploymentcoordination"},
			want: `--controllers: every controller is left out: keep at least one of podsequence, sequentialjob, podgroup, deploymentcoordination`,
		},
		"the check for Kueue": {
			args: []string{"--kueue-admission-check"},
		},
		"the check for Kueue without PodSequences": {
			args: []string{"--kueue-admission-check", "--controllers=-podsequence"},
			want: `--kueue-admission-check: it needs the controller podsequence, which --controllers leaves out`,
		},
		"an empty name among others": {
			args: []string{"--scheduler-names=a,"},
			want: `--scheduler-names: "" is not the name of a scheduler`,
		},
		"the same scheduler twice": {
			args: []string{"--scheduler-names=a,a"},
			want: `--scheduler-names: "a" is given twice`,
		},
		"no prefix": {
			args: []string{"--gate-prefixes="},
			want: `--gate-prefixes: must not be empty`,
		},
		"unprobed pods count at once": {
			args: []string{"--unprobed-ready-seconds=0"},
		},
		"a time of unprobed pods that is too long": {
			args: []string{"--unprobed-ready-seconds=3601"},
			want: `--unprobed-ready-seconds: 3601 must be from 0 to 3600`,
		},
		"a time of unprobed pods that is negative": {
			args: []string{"--unprobed-ready-seconds=-1"},
			want: `--unprobed-ready-seconds: -1 must be from 0 to 3600`,
		},
		"a prefix that would match other domains": {
			args: []string{"--gate-prefixes=example"},
			want: `--gate-prefixes: "example" must be a DNS name followed by '/', such as podsequence.example.com/`,
		},
		"a prefix that is a gate": {
			args: []string{"--gate-prefixes=podsequence.example.com/sequence-gate"},
			want: `--gate-prefixes: "podsequence.example.com/sequence-gate" must be a DNS name followed by '/'`,
		},
		"a lease that ends before its renewal": {
			args: []string{"--leader-elect-lease-duration=5s"},
			want: `--leader-elect-lease-duration: 5s must be more than the renew deadline of 10s`,
		},
		"a deadline that allows no retry": {
			args: []string{"--leader-elect-renew-deadline=2400ms"},
			want: `--leader-elect-renew-deadline: 2.4s must be more than 1.2 times the retry period of 2s`,
		},
		"no retry period": {
			args: []string{"--leader-elect-retry-period=0"},
			want: `--leader-elect-retry-period: 0s must be greater than 0`,
		},
		"a namespace that cannot be": {
			args: []string{"--leader-elect-resource-namespace=A"},
			want: `--leader-elect-resource-namespace: "A" is not the name of a namespace`,
		},
		"an installation that cannot be": {
			args: []string{"--installation-namespace="},
			want: `--installation-namespace: "" is not the name of a namespace`,
		},
		"times of a lease that is not used": {
			args: []string{"--leader-elect=false", "--leader-elect-lease-duration=0"},
		},
		"labels of other keys": {
			args: []string{"--pod-group-name-label=gang", "--pod-group-ready-label=example.com/gang-runs"},
		},
		"a label whose key is none": {
			args: []string{"--pod-group-name-label=a b"},
			want: `--pod-group-name-label: "a b" is not a label key`,
		},
		"a label without a key": {
			args: []string{"--pod-group-ready-label="},
			want: `--pod-group-ready-label: "" is not a label key`,
		},
		"the same label for both": {
			args: []string{"--pod-group-name-label=gang", "--pod-group-ready-label=gang"},
			want: `--pod-group-name-label and --pod-group-ready-label: both are "gang"`,
		},
		"a certificate": {
			args: []string{"--tls-cert-file=tls.crt", "--tls-private-key-file=tls.key"},
		},
		"a certificate without its key": {
			args: []string{"--tls-cert-file=tls.crt"},
			want: "--tls-cert-file and --tls-private-key-file: give both or neither",
		},
		"a key without its certificate": {
			args: []string{"--tls-private-key-file=tls.key"},
			want: "--tls-cert-file and --tls-private-key-file: give both or neither",
		},
		"a certificate for HTTP": {
			args: []string{"--tls-cert-file=tls.crt", "--tls-private-key-file=tls.key", "--metrics-secure=false"},
			want: "--tls-cert-file: metrics are served over HTTP because of --metrics-secure=false",
		},
		"no coordinations": {
			args: []string{"--max-deployment-coordinations=0"},
			want: "--max-deployment-coordinations: 0 must be greater than 0",
		},
		"no statuses": {
			args: []string{"--status-writes=0"},
			want: "--status-writes: 0 must be greater than 0",
		},
		"no requests": {
			args: []string{"--kube-api-qps=0", "--kube-api-burst=0"},
			want: "--kube-api-qps: 0 must be greater than 0\n--kube-api-burst: 0 must be greater than 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := defaultOptions()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.addFlags(flags)
			require.NoError(t, flags.Parse(tc.args))

			if err := o.validate(); tc.want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tc.want)
			}
		})
	}
}
