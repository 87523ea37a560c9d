package controlplane

const (
	unprobedReadyArgument = "unprobedReadySeconds"
	unprobedReadyFlag     = "--unprobed-ready-seconds="
	// shippedUnprobedReady is the default of both programs.
	shippedUnprobedReady = 5
)
