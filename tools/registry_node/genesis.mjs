// Write the raw genesis of Rococo's Asset Hub (statemine 900) out of its npm package to the file named.
import { writeFileSync } from 'node:fs'
import { chainSpec } from '@substrate/connect-known-chains/rococo_v2_2_asset_hub'

writeFileSync(process.argv[2], chainSpec)
