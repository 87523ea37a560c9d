-- The health of a PodSequence, ClusterPodSequence, SequentialJob or DeploymentCoordination, for Argo CD.
local hs = { status = "Progressing", message = "podsequence-controller has not seen this object yet" }

local status = obj.status or {}
local generation = obj.metadata.generation
if generation ~= nil and status.observedGeneration ~= generation then
  if status.observedGeneration ~= nil and status.observedGeneration > 0 then
    hs.message = "podsequence-controller has not seen the latest change of this object yet"
  end
  return hs
end

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local function is(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end
local function say(health, kind)
  hs.status = health
  hs.message = conditions[kind].reason .. ": " .. (conditions[kind].message or "")
end

if is("Stalled") then
  say("Degraded", "Stalled")
elseif is("Suspended") and not is("Ready") then
  say("Suspended", "Suspended")
elseif is("Reconciling") then
  say("Progressing", "Reconciling")
elseif is("Ready") then
  say("Healthy", "Ready")
elseif conditions.Ready ~= nil then
  say("Progressing", "Ready")
end

-- What is wrong, but keeps nothing from going on.
if is("Degraded") and not is("Stalled") then
  hs.message = hs.message .. " (" .. conditions.Degraded.reason .. ": " .. (conditions.Degraded.message or "") .. ")"
end
return hs
