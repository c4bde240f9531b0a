import { modelSuite } from "../support/model/suite.js";

modelSuite(Number(process.env.FUZZ_SECONDS ?? 3600));
