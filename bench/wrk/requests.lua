-- The requests of one connection. Variables of the environment:
--   BODY     a file: the body up to the end of its array, without the closing bracket
--   REST     a file: the body from that bracket on
--   STEPS    a file: JSON texts of steps, one per line, each with its leading comma; empty: the
--            array never grows
--   HEADERS  a file: lines of "name: value"
--   PAUSE    milliseconds between an answer and the next request
--   RENEW    requests of a conversation, before the next one has another name; 0: none has a name
-- The array grows by a step with each request. After the last step it begins anew.
local function read(name)
  local file = assert(io.open(os.getenv(name), "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local renew, made, begun = tonumber(os.getenv("RENEW")), 0, os.getenv("BEGUN")
local first, rest, steps = read("BODY"), read("REST"), {}
for line in read("STEPS"):gmatch("[^\n]+") do steps[#steps + 1] = line end

wrk.headers["content-type"] = "application/json"
for name, value in read("HEADERS"):gmatch("([^:\n]+): ([^\n]*)") do wrk.headers[name] = value end

local function post(body) return wrk.format("POST", "/v1/chat/completions", nil, body) end

local array, at, same = first, 0, nil

function request()
  if #steps == 0 then
    if renew > 0 and made % renew == 0 then
      wrk.headers["x-conversation-id"] = begun .. "-" .. made
      same = nil
    end
    made = made + 1
    same = same or post(first .. rest)
    return same
  end
  at = at % #steps + 1
  if at == 1 then array = first end
  array = array .. steps[at]
  return post(array .. rest)
end

local pause = tonumber(os.getenv("PAUSE"))
if pause > 0 then
  function delay() return pause end
end

function done(summary, latency)
  local failed = summary.errors.status + summary.errors.timeout + summary.errors.read + summary.errors.write
  io.write(string.format('\nRESULT {"p50": %f, "p99": %f, "p999": %f, "requests": %d, "ms": %f, "failed": %d}\n',
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency:percentile(99.9) / 1000,
    summary.requests, summary.duration / 1000, failed))
end
