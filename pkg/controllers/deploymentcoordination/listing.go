package deploymentcoordination

// Each object of the API has to fit into a request to etcd, of 1.5 MiB. And the API server encodes a coordination with its
// status for each request that the policy looks at.
const (
	// maxListed is how many Deployments status has a record of. With the longest names a record has 1.4 kB.
	maxListed = 1000
	// maxListedElsewhere is how many it names besides that are in the hands of another coordination.
	maxListedElsewhere = 10
)
